import torch


def pattern(x):
    return x.t().contiguous()


def replacement_args(x):
    return (x,)


def fused(x):
    flipped = x.transpose(0, 1)
    if x.data_ptr() % 64 == 0:
        return flipped.contiguous()
    return torch.reshape(flipped, (-1,)).view(flipped.shape)


def replacement_func():
    return fused
