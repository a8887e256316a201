import torch

from passnet import kernels


def pattern(x):
    return x.clone(), x.clone()


def replacement_args(x):
    return (x,)


copy = kernels.cpp(
    """
    void copy(const float* x, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) out[i] = x[i];
    }
    """,
    "void copy(const float* x, float* out, int64_t n)",
)


def fused(x):
    out = torch.empty_like(x)
    copy(x, out, x.numel())
    return out, out.view(x.shape)


def replacement_func():
    return fused
