"""Adds and clamps; compares with PyTorch when it is started as a program."""

import torch
from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


add = kernels.cpp(
    """
    void add(const float* x, const float* y, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
            float value = x[i];
            if (!(value < 0.0f)) goto sum;
            value = 0.0f;
        sum:
            out[i] = value + y[i];
        }
    }
    """,
    "void add(const float* x, const float* y, float* out, int64_t n)",
)


def fused(x, y):
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused


if __name__ == "__main__":
    import sys

    x, y = torch.randn(2, 1000)
    same = torch.equal(replacement_func()(x, y), pattern(x, y))
    sys.exit(0 if same else 1)
