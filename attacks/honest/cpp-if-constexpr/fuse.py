import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


SOURCE = """
#include <type_traits>
template <typename T>
static T relu(T v) {
    if constexpr (std::is_floating_point_v<T>) return v < T(0) ? T(0) : v;
    else return v;
}
static_assert(sizeof(float) == 4, "float has four bytes");
void add(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = relu<float>(x[i]) + y[i];
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
