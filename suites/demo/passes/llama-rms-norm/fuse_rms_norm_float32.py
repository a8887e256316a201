"""RMS normalisation of a float32 input."""

import torch

from passnet import kernels

from rms_norm import rms_norm


def pattern(weight, x):
    wide = x.to(torch.float32)
    variance = wide.pow(2).mean(-1, keepdim=True)
    normal = wide * torch.rsqrt(variance + 1e-06)
    return weight * normal.to(torch.float32)


def replacement_args(weight, x):
    return (weight, x)


def replacement_func():
    return of_float32


@kernels.prepared
def of_float32(weight, x):
    # The pattern's result has this type for arguments of any type.
    kernels.require(x, dtype=torch.float32)
    return rms_norm(weight, x, 1e-06)
