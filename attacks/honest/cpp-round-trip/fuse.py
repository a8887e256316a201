import torch

from passnet import kernels


def pattern(x):
    return x.half().float()


def replacement_args(x):
    return (x,)


round_trip = kernels.cpp(
    "void round_trip(const float* x, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = float(float16(x[i])); }",
    "void round_trip(const float* x, float* out, int64_t n)",
)


def fused(x):
    out = torch.empty_like(x)
    round_trip(x, out, x.numel())
    return out


def replacement_func():
    return fused
