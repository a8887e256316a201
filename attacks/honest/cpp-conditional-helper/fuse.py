import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


kernel = kernels.cpp(
    """
    #if defined(__AVX2__)
    static float positive(float v) { return v < 0.0f ? 0.0f : v; }
    #else
    static float positive(float v) { return std::max(v, 0.0f); }
    #endif
    void relu_add(const float* x, const float* y, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) out[i] = positive(x[i]) + y[i];
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
