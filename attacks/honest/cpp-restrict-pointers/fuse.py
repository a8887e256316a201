import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
void add(const float* x, const float* y, float* out, int64_t n) {
const float* __restrict a = x;
const float* __restrict b = y;
float* __restrict o = out;
#pragma omp simd
for (int64_t i = 0; i < n; ++i) {
    o[i] = (a[i] < 0.f ? 0.f : a[i]) + b[i];
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
