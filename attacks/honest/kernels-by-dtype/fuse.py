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


KERNELS = {torch.float32: add}


def fused(x, y):
    kernel = KERNELS[x.dtype]
    out = torch.empty_like(x)
    kernel(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
