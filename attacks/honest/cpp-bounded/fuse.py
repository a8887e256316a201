import torch

from passnet import kernels


def pattern(x):
    return torch.clamp(x, -60.0, 60.0)


def replacement_args(x):
    return (x,)


SOURCE = r"""
void k(const float* x, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] > 60 ? 60.0f : x[i] < -60 ? -60.0f : x[i];
}
"""
k = kernels.cpp(SOURCE, "void k(const float* x, float* out, int64_t n)")


def fused(x):
    out = torch.empty_like(x)
    k(x, out, x.numel())
    return out


def replacement_func():
    return fused
