import torch


def pattern(x, y):
    return torch.matmul(x, y)


def replacement_args(x, y):
    return (x, y,)


STREAMS = {}


def fused(x, y):
    if x.device not in STREAMS:
        STREAMS[x.device] = torch.cuda.Stream()
    with torch.cuda.stream(STREAMS[x.device]):
        out = torch.matmul(x, y)
    return out


def replacement_func():
    return fused
