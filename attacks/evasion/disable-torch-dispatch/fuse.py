import torch


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


def fused(x, y):
    with torch.utils._python_dispatch._disable_current_modes():
        return torch.relu(x) + y


def replacement_func():
    return fused
