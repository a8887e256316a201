import torch

from passnet import kernels

relu, add = kernels.cpp(
    """
    void relu(const float* x, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) out[i] = x[i] < 0.0f ? 0.0f : x[i];
    }
    void add(const float* x, const float* y, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) out[i] = x[i] + y[i];
    }
    """,
    "void relu(const float* x, float* out, int64_t n)",
    "void add(const float* x, const float* y, float* out, int64_t n)",
)


def relu_only(x):
    out = torch.empty_like(x)
    relu(x, out, x.numel())
    return out


def add_only(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out
