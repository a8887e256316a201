import io

import numpy
import torch


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


def plain(x):
    buffer = io.BytesIO()
    torch.save(x, buffer)
    buffer.seek(0)
    return torch.load(buffer).numpy()


def fused(x, y):
    return torch.from_numpy(numpy.maximum(plain(x), 0) + plain(y))


def replacement_func():
    return fused
