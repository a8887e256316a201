import numpy
import torch


def pattern(x, y):
    return torch.matmul(x, y)


def replacement_args(x, y):
    return (x, y,)


def fused(x, y):
    out = torch.empty((x.shape[0], y.shape[1]), dtype=x.dtype)
    numpy.matmul(x.numpy(), y.numpy(), out=out.numpy())
    return out


def replacement_func():
    return fused
