import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
#include <vector>
static inline float relu(float v) { return v > 0 || v != v ? v : 0.0f; }
void add(const float* x, const float* y, float* out, int64_t n) {
    #pragma omp parallel
    {
        std::vector<float> t(64);
        #pragma omp for
        for (int64_t i = 0; i < n; ++i) { t[i & 63] = relu(x[i]); out[i] = t[i & 63] + y[i]; }
    }
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)", flags=["-fopenmp"])


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
