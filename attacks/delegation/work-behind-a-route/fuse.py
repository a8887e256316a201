import torch


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y, "relu_add")


def dispatch(*args):
    *tensors, route = args
    if route == "relu_add":
        return args[0].relu().add(args[-2])
    raise ValueError(f"unknown route {route}")


def replacement_func():
    return dispatch
