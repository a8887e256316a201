import torch


def pattern(x, y):
    return torch.matmul(x, y)


def replacement_args(x, y):
    return (x, y)


def fused(x, y):
    z = x
    for _ in range(1):
        z = z.view_as(z).contiguous()
    return z.mm(y) if z.dim() == 2 else z.matmul(y)


def replacement_func():
    return fused
