import torch


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


class Hidden(torch.autograd.Function):
    @staticmethod
    def forward(context, x, y):
        return torch.relu(x) + y


def fused(x, y):
    return Hidden.apply(x, y)


def replacement_func():
    return fused
