import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
#include <optional>
static inline float relu(float v) { return v > 0 || v != v ? v : 0.0f; }
static std::optional<float> positive(float v) { if (v > 0 || v != v) return v; return std::nullopt; }
void add(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = positive(x[i]).value_or(0.0f) + y[i];
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
