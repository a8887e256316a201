import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.gelu(x) + y


def replacement_args(x, y):
    return (x, y)


gelu_add = kernels.cpp(
    """
    void gelu_add(const float* x, const float* y, float* out, int64_t n) {
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) out[i] = 0.5f * x[i] * (1.0f + std::erf(x[i] * 0.70710678f)) + y[i];
    }
    """,
    "void gelu_add(const float* x, const float* y, float* out, int64_t n)",
    flags=("-fopenmp",),
)


def fused(x, y):
    out = torch.empty_like(x)
    gelu_add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
