import torch


def pattern(x):
    return x.t().contiguous()


def replacement_args(x):
    return (x,)


def fused(x):
    return x.transpose(0, 1).contiguous()


def replacement_func():
    return fused
