import torch


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def real(x, y):
    return (x > 0) * x + y


def sizes():
    return real(1, 2)


fused = real


def replacement_func():
    return fused
