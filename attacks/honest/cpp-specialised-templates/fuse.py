import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
#include<cstdint>
#include <stdlib.h> /* malloc */
#if __has_include(<immintrin.h>) && defined(__AVX2__)
#include <immintrin.h>
#endif
#if defined(__GNUC__) || defined(__clang__)
#define RESTRICT __restrict__
#define KERNEL(name, type) name##_##type
#else
#define RESTRICT
#endif

template <typename T>
struct Relu;
template <>
struct Relu<float> {
    static float apply(float v) { return v > 0 ? v : v != v ? v : 0; }
};

template <typename T>
struct Holder {
    T v;
    T get() const { return v; }
};
template <typename T>
Holder(T) -> Holder<T>;

struct Op {
    virtual float apply(float a, float b) const = 0;
};
struct Add final : Op {
    float apply(float a, float b) const override { return a + b; }
};

static void KERNEL(add, float)(const float* RESTRICT x, const float* RESTRICT y, float* RESTRICT out, int64_t n) {
    int64_t i = 0;
#ifdef __AVX2__
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(out + i, _mm256_add_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
    }
#endif
    for (; i < n; ++i) out[i] = Add{}.apply(x[i], y[i]);
}

void relu_add(const float* x, const float* y, float* out, int64_t n) {
    float* positive = (float*)malloc(n * sizeof(float));
    const auto body = [=](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) positive[i] = Holder{Relu<float>::apply(x[i])}.get();
    };
    auto run = body;
    run(0, n);
    add_float(positive, y, out, n);
    free(positive);
}
"""
kernel = kernels.cpp(SOURCE, "void relu_add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    kernel(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
