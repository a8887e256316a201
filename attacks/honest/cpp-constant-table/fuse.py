import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


kernel = kernels.cpp(
    """
    const int64_t BLOCK = 64;
    static const float zero[2] = {0.0f, -0.0f};
    void relu_add(const float* x, const float* y, float* out, int64_t n) {
        for (int64_t start = 0; start < n; start += BLOCK)
            for (int64_t i = start; i < std::min(n, start + BLOCK); ++i)
                out[i] = (x[i] < zero[0] ? zero[0] : x[i]) + y[i];
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
