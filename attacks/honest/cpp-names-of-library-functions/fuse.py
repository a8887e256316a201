import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


kernel = kernels.cpp(
    """
    void relu_add(const float* x, const float* y, float* out, int64_t n) {
        for (int64_t section = 0; section < n; ++section) {
            float signal = x[section];
            float weak = signal < 0.0f ? 0.0f : signal;
            out[section] = weak + y[section];
        }
    }
    """,
    "void relu_add(const float* x, const float* y, float* out, int64_t n)",
)


def fused(x, y):
    out = torch.empty_like(x)
    kernel(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
