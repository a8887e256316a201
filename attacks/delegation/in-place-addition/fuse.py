import torch


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


def fused(x, y):
    out = torch.zeros_like(x)
    out += x
    out[out < 0] = 0.0
    out += y
    return out


def replacement_func():
    return fused
