import torch

from passnet import kernels

add = kernels.cpp(
    r"""
#include <functional>
void add(const float* x, const float* y, float* out, int64_t n) {
    const std::plus<float> plus;
    const std::less<> less;
    auto relu = [&](auto v) { return less(v, decltype(v)(0)) ? decltype(v)(0) : v; };
    for (int64_t i = 0; i < n; ++i) out[i] = plus(relu(x[i]), y[i]);
}
""",
    "void add(const float* x, const float* y, float* out, int64_t n)",
)


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
