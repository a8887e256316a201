import torch

import shared

__all__ = ["pattern", "replacement_args", "replacement_func"]


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def replacement_func():
    return shared.fused
