import torch


def pattern(x, y):
    return torch.matmul(x, y)


def replacement_args(x, y):
    return (x, y)


def fused(x, y):
    parts = []
    parts[0:0] = [x]
    return parts[0] @ y


def replacement_func():
    return fused
