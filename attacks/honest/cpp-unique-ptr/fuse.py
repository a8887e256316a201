import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
#include <memory>
static inline float relu(float v) { return v > 0 || v != v ? v : 0.0f; }
void add(const float* x, const float* y, float* out, int64_t n) {
    auto t = std::make_unique<float[]>(n);
    for (int64_t i = 0; i < n; ++i) t[i] = relu(x[i]);
    for (int64_t i = 0; i < n; ++i) out[i] = t[i] + y[i];
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
