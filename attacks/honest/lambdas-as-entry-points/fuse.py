import torch

from passnet import kernels

SOURCE = """
#include <cstdint>
void relu_add(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const float v = x[i] < 0.0f ? 0.0f : x[i];
        out[i] = v + y[i];
    }
}
"""
relu_add = kernels.cpp(SOURCE, "void relu_add(const float* x, const float* y, float* out, int64_t n)")

pattern = lambda x, y: torch.nn.functional.relu(x) + y  # noqa: E731
replacement_args = lambda x, y: (x, y)  # noqa: E731


def fused(x, y):
    out = torch.empty_like(x)
    relu_add(x, y, out, x.numel())
    return out


replacement_func = lambda: fused  # noqa: E731
