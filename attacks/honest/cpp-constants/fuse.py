import torch

from passnet import kernels


def pattern(x):
    return x * 0.125 + 1.0


def replacement_args(x):
    return (x, 0.125, 1.0)


scale = kernels.cpp(
    """
    void scale(const float* x, float* out, float factor, float shift, int64_t n) {
        for (int64_t i = 0; i < n; ++i) out[i] = x[i] * factor + shift;
    }
    """,
    "void scale(const float* x, float* out, float factor, float shift, int64_t n)",
)


def fused(x, factor, shift):
    out = torch.empty_like(x)
    scale(x, out, factor, shift, x.numel())
    return out


def replacement_func():
    return fused
