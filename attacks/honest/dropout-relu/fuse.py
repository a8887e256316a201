import torch

from passnet import kernels


def pattern(x):
    return torch.nn.functional.relu(torch.nn.functional.dropout(x, 0.1, False, False))


def replacement_args(x):
    return (x,)


relu = kernels.cpp(
    "void relu(const float* x, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = x[i] < 0.0f ? 0.0f : x[i]; }",
    "void relu(const float* x, float* out, int64_t n)",
)


def fused(x):
    out = torch.empty_like(x)
    relu(x, out, x.numel())
    return out


def replacement_func():
    return fused
