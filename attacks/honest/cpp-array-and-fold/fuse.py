import torch

from passnet import kernels


def pattern(x):
    return x.sum(-1)


def replacement_args(x):
    return (x,)


SOURCE = """
#include <array>
#include <tuple>
#include <utility>
template <std::size_t... I>
static float total(const std::array<float, sizeof...(I)>& parts, std::index_sequence<I...>) { return (std::get<I>(parts) + ...); }
void rows(const float* x, float* out, int64_t m, int64_t n) {
    for (int64_t i = 0; i < m; ++i) {
        std::array<float, 8> parts{};
        const float* row = x + i * n;
        int64_t j = 0;
        for (; j + 8 <= n; j += 8)
            for (std::size_t k = 0; k < parts.size(); ++k) parts[k] += row[j + k];
        float sum = total(parts, std::make_index_sequence<8>{});
        for (; j < n; ++j) sum += row[j];
        out[i] = sum;
    }
}
"""
rows = kernels.cpp(SOURCE, "void rows(const float* x, float* out, int64_t m, int64_t n)")


def fused(x):
    m, n = x.shape
    out = x.new_empty((m,))
    rows(x, out, m, n)
    return out


def replacement_func():
    return fused
