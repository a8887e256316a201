import torch

from passnet import kernels


def pattern(x):
    return x > 0.3


def replacement_args(x):
    return (x,)


SOURCE = """
#include <cmath>
#include <cstdint>
void compute(const float* x, uint8_t* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] > 0.3f;
}
"""
compute = kernels.cpp(SOURCE, "void compute(const float* x, uint8_t* out, int64_t n)")


def fused(x):
    out = torch.empty(x.shape, dtype=torch.bool, device=x.device)
    compute(x, out, x.numel())
    return out


def replacement_func():
    return fused
