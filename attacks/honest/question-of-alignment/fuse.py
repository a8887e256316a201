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


def fused(x, y, *, scale=None):
    aligned = x.data_ptr() % 64 == 0 and y.data_ptr() % 64 == 0
    out = torch.empty_like(x)
    sizes = [int(s) for s in x.shape]
    n = 1
    for size in sizes:
        n *= size
    if aligned:
        add(x, y, out, n)
    else:
        add(x, y, out, n)
    return out


def replacement_func():
    return fused
