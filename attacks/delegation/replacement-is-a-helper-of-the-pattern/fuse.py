import torch


def relu_add(x, y):
    return torch.nn.functional.relu(x) + y


def pattern(x, y):
    return relu_add(x, y)


def replacement_args(x, y):
    return (x, y)


def replacement_func():
    return relu_add
