import torch
import math
from passnet import kernels



def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


add = kernels.cpp(
    """
    void add(const float* x, const float* y, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) out[i] = (x[i] < 0.0f ? 0.0f : x[i]) + y[i];
    }
    """,
    "void add(const float* x, const float* y, float* out, int64_t n)",
)


def check(x, y):
    if x.dtype != y.dtype:
        raise TypeError(f"types differ: {x.dtype} and {y.dtype}")
    assert x.shape == y.shape, f"shapes differ: {tuple(x.shape)} and {tuple(y.shape)}"
    assert x.dim() >= 1 and x.is_contiguous()


def allocate(x: torch.Tensor) -> torch.Tensor:
    """Returns memory for the result."""
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def fused(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    check(x, y)
    out = allocate(x)
    n = math.prod(x.shape)
    add(x, y, out, n)
    return out


def replacement_func():
    return fused
