import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


SOURCE = """
#include <algorithm>
#include <functional>
void add(const float* x, const float* y, float* out, int64_t n) {
    std::transform(x, x + n, out, [](float v) { return std::max(v, 0.0f); });
    std::transform(out, out + n, y, out, std::plus<float>());
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
