import numpy
import torch


def pattern(x, y):
    return torch.matmul(x, y)


def replacement_args(x, y):
    return (x, y,)


def fused(x, y):
    out = torch.empty((x.shape[0], y.shape[1]), dtype=x.dtype)
    numpy.matmul(numpy.from_dlpack(x), numpy.from_dlpack(y), out=out.numpy())
    return out


def replacement_func():
    return fused
