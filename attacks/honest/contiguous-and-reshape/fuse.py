import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


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


def fused(x, y):
    import math

    x, y = (t.contiguous() for t in (x, y))
    flat = torch.flatten(x)
    out = torch.empty_like(flat)
    relu_add(flat, y.reshape(-1), out, math.prod(x.shape))
    del flat
    return torch.reshape(out, x.shape)


def replacement_func():
    return fused
