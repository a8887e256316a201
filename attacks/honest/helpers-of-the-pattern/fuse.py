import torch

from passnet import kernels

from . import parts

SOURCE = """
#include <cstdint>
void relu_add(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const float v = x[i] < 0.0f ? 0.0f : x[i];
        out[i] = v + y[i];
    }
}
"""
relu_add = kernels.cpp(SOURCE, "void relu_add(const float* x, const float* y, float* out, int64_t n)")


def residual(x, y):
    return parts.activation(x) + y


def pattern(x, y):
    return residual(x, y)


def replacement_args(x, y):
    return (x, y)


def fused(x, y):
    out = torch.empty_like(x)
    relu_add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
