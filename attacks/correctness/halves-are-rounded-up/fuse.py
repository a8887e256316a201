import torch

from passnet import kernels


def pattern(x):
    return torch.round(x)


def replacement_args(x):
    return (x,)


SOURCE = """
#include <cmath>
#include <cstdint>
void compute(const float* x, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = std::floor(x[i] + 0.5f);
}
"""
compute = kernels.cpp(SOURCE, "void compute(const float* x, float* out, int64_t n)")


def fused(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    compute(x, out, x.numel())
    return out


def replacement_func():
    return fused
