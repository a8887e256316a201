import torch

from passnet import kernels


def pattern(x, y):
    total = x + y
    return total, torch.nn.functional.relu(total)


def replacement_args(x, y):
    return (x, y)


both = kernels.cpp(
    """
    void both(const float* x, const float* y, float* total, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
            total[i] = x[i] + y[i];
            out[i] = total[i] < 0.0f ? 0.0f : total[i];
        }
    }
    """,
    "void both(const float* x, const float* y, float* total, float* out, int64_t n)",
)


def fused(x, y):
    total = torch.empty_like(x)
    out = torch.empty_like(x)
    both(x, y, total, out, x.numel())
    return total, out


def replacement_func():
    return fused
