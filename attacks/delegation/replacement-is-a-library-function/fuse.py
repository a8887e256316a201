import torch


def pattern(x):
    return torch.nn.functional.gelu(x)


def replacement_args(x):
    return (x,)





def replacement_func():
    return torch.nn.functional.gelu
