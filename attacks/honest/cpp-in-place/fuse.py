import torch

from passnet import kernels


def pattern(x, y):
    x += y
    return torch.nn.functional.relu(x, inplace=True)


def replacement_args(x, y):
    return (x, y)


add_relu = kernels.cpp(
    """
    void add_relu(float* x, const float* y, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
            float total = x[i] + y[i];
            x[i] = total < 0.0f ? 0.0f : total;
        }
    }
    """,
    "void add_relu(float* x, const float* y, int64_t n)",
)


def fused(x, y):
    add_relu(x, y, x.numel())
    return x


def replacement_func():
    return fused
