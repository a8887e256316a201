import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


SOURCE = """
#include <immintrin.h>
__attribute__((target("avx2,fma"))) static void wide(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; i += 8) {
        const __m256 a = _mm256_max_ps(_mm256_setzero_ps(), _mm256_loadu_ps(x + i));
        _mm256_storeu_ps(out + i, _mm256_add_ps(a, _mm256_loadu_ps(y + i)));
    }
}
void add(const float* x, const float* y, float* out, int64_t n) { wide(x, y, out, n); }
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
