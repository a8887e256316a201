import torch


def pattern(x):
    return torch.nn.functional.softmax(x, dim=-1)


def replacement_args(x):
    return (x,)


def fused(x):
    return x.softmax(-1)


def replacement_func():
    return fused
