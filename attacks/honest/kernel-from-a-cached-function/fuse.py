import functools

import torch

from passnet import kernels

SOURCE = """
#include <cstdint>
void relu_add(const float* x, const float* y, float* out, int64_t n) {
    // The first call compiles this.
    for (int64_t i = 0; i < n; ++i) {
        const float v = x[i] < 0.0f ? 0.0f : x[i];
        out[i] = v + y[i];
    }
}
"""
SIGNATURE = "void relu_add(const float* x, const float* y, float* out, int64_t n)"


@functools.lru_cache(maxsize=None)
def compiled():
    return kernels.cpp(SOURCE, SIGNATURE)


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def fused(x, y):
    out = torch.empty_like(x)
    compiled()(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
