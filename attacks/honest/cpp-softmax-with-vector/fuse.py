import torch

from passnet import kernels


def pattern(x):
    return torch.nn.functional.softmax(x, dim=-1)


def replacement_args(x):
    return (x,)


SOURCE = """
#include <vector>
#include <algorithm>
#include <cmath>
void softmax(const float* x, float* out, int64_t m, int64_t n) {
    std::vector<float> scratch(n);
    for (int64_t i = 0; i < m; ++i) {
        const float* row = x + i * n;
        const float peak = *std::max_element(row, row + n);
        double sum = 0.0;
        for (int64_t j = 0; j < n; ++j) { scratch[j] = std::exp(row[j] - peak); sum += scratch[j]; }
        for (int64_t j = 0; j < n; ++j) out[i * n + j] = static_cast<float>(scratch[j] / sum);
    }
}
"""
softmax = kernels.cpp(SOURCE, "void softmax(const float* x, float* out, int64_t m, int64_t n)")


def fused(x):
    out = torch.empty_like(x)
    softmax(x, out, x.shape[0], x.shape[1])
    return out


def replacement_func():
    return fused
