"""RMS normalisation of a float32 input."""

import torch

from .rms_norm import rms_norm


def pattern(weight, x):
    wide = x.to(torch.float32)
    variance = wide.pow(2).mean(-1, keepdim=True)
    normal = wide * torch.rsqrt(variance + 1e-06)
    return weight * normal.to(torch.float32)


def replacement_args(weight, x):
    return (weight, x, 1e-06)


def replacement_func():
    return rms_norm
