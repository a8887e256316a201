import functools

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


def launch(kernel, layout, x, y, *, check=False):
    if check and x.shape != y.shape:
        raise ValueError(f"the shapes {tuple(x.shape)} and {tuple(y.shape)} differ")
    out = torch.empty_like(x, memory_format=layout)
    kernel(x, y, out, x.numel())
    return out


fused = functools.partial(launch, relu_add, torch.preserve_format, check=True)


def replacement_func():
    return fused
