import torch

from passnet import kernels


def pattern(mask):
    return mask.to(torch.float32)


def replacement_args(mask):
    return (mask,)


widen = kernels.cpp(
    "void widen(const float16* mask, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = mask[i]; }",
    "void widen(const float16* mask, float* out, int64_t n)",
)


def fused(mask):
    out = torch.empty(mask.shape, dtype=torch.float32)
    widen(mask, out, mask.numel())
    return out


def replacement_func():
    return fused
