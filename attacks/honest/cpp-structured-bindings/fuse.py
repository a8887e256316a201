import torch
from passnet import kernels

SOURCE = r"""
#include <utility>
static std::pair<float, float> two(float a, float b) {
    return {a < 0 ? 0 : a, b};
}
void add(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        auto [a, b] = two(x[i], y[i]);
        out[i] = a + b;
    }
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def replacement_func():
    return fused
