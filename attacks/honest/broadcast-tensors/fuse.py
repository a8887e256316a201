import torch

from passnet import kernels

SOURCE = """
#include <cstdint>
void relu_add(const float* x, const float* y, float* out, int64_t m, int64_t n, int64_t x0, int64_t x1, int64_t y0, int64_t y1) {
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            const float v = x[i * x0 + j * x1];
            out[i * n + j] = (v < 0.0f ? 0.0f : v) + y[i * y0 + j * y1];
        }
    }
}
"""
SIGNATURE = """void relu_add(
    const float* strided x, const float* strided y, float* out, int64_t m, int64_t n, int64_t x0, int64_t x1, int64_t y0, int64_t y1)
"""
relu_add = kernels.cpp(SOURCE, SIGNATURE)


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def fused(x, y):
    xb, yb = torch.broadcast_tensors(x, y)
    m, n = torch.broadcast_shapes(x.shape, y.shape)
    out = torch.empty((m, n), dtype=x.dtype, device=x.device)
    relu_add(xb, yb, out, m, n, *xb.stride(), *yb.stride())
    return out


def replacement_func():
    return fused
