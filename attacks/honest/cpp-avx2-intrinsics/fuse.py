import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


SOURCE = """
#include <immintrin.h>
static inline __m256 relu(__m256 v) { return _mm256_max_ps(_mm256_setzero_ps(), v); }
void add(const float* x, const float* y, float* out, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 a = _mm256_loadu_ps(x + i);
        _mm256_storeu_ps(out + i, _mm256_add_ps(relu(a), _mm256_loadu_ps(y + i)));
    }
    for (; i < n; ++i) out[i] = (x[i] < 0.0f ? 0.0f : x[i]) + y[i];
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)", flags=["-mavx2", "-mfma"])


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
