import torch

from pass_dir.shared import relu_then_add


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def replacement_func():
    return relu_then_add
