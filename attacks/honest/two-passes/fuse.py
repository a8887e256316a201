import torch

from .shared import relu_only


def pattern(x):
    return torch.nn.functional.relu(x)


def replacement_args(x):
    return (x,)


def replacement_func():
    return relu_only
