import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


relu_add = kernels.cpp(
    """
    void relu_add(const float* x, const float* y, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
            float v = x[i] < 0.0f ? 0.0f : x[i];
            out[i] = (v > 3.0e38f ? 3.0e38f : v) + y[i];
        }
    }
    """,
    "void relu_add(const float* x, const float* y, float* out, int64_t n)",
)


def fused(x, y):
    out = torch.empty_like(x)
    relu_add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
