import torch
import math
from passnet import kernels

from typing import Final, Optional


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


add = kernels.cpp(
    """
    void add(const float* x, const float* y, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) out[i] = (x[i] < 0.0f ? 0.0f : x[i]) + y[i];
    }
    """,
    "void add(const float* x, const float* y, float* out, int64_t n)",
)


BLOCKS: Final[tuple] = (64, 128, 256)
NAMES = ["relu", "add"]


def block_for(n: int) -> int:
    for block in BLOCKS:
        if n <= block:
            return block
    return BLOCKS[-1]


def fused(x, y):
    n = x.numel()
    block = block_for(n)
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    if n > 0 and block > 0:
        add(x, y, out, n)
    return out


def replacement_func():
    return fused
