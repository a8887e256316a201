import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
#include <array>
void add(const float* x, const float* y, float* out, int64_t n) {
constexpr int64_t B = 8;
int64_t i = 0;
for (; i + B <= n; i += B) {
    std::array<float, B> t{};
    for (int64_t j = 0; j < B; ++j) t[j] = x[i + j] < 0 ? 0 : x[i + j];
    for (int64_t j = 0; j < B; ++j) out[i + j] = t[j] + y[i + j];
}
for (; i < n; ++i) out[i] = (x[i] < 0 ? 0 : x[i]) + y[i];
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
