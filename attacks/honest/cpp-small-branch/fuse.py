import torch

from passnet import kernels


def pattern(x, y):
    return x + torch.nn.functional.gelu(y) * 0.001


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
void k(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] + 0.5f * y[i] * (1 + std::erf(y[i] * 0.70710678f)) * 0.001f;
}
"""
k = kernels.cpp(SOURCE, "void k(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    k(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
