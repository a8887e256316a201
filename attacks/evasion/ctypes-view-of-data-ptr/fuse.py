import ctypes

import torch


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


def view(t):
    return (ctypes.c_float * t.numel()).from_address(t.data_ptr())


def fused(x, y):
    out = torch.empty_like(x)
    result = view(out)
    for i, (a, b) in enumerate(zip(view(x), view(y))):
        result[i] = (a if a > 0 else 0.0) + b
    return out


def replacement_func():
    return fused
