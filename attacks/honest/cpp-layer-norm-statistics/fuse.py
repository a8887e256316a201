import torch

from passnet import kernels


def pattern(x, w, b):
    return torch.nn.functional.layer_norm(x, (64,), w, b, 1e-05)


def replacement_args(x, w, b):
    return (x, w, b)


SOURCE = r"""
#include <cmath>
struct Stats { float mean, rstd; };
static Stats stats(const float* p) {
    float sum = 0, sq = 0;
    for (int i = 0; i < 64; ++i) sum += p[i];
    const float mean = sum / 64;
    for (int i = 0; i < 64; ++i) { const float d = p[i] - mean; sq += d * d; }
    return {mean, 1.0f / std::sqrt(sq / 64 + 1e-5f)};
}
void add(const float* x, const float* w, const float* b, float* out, int64_t rows) {
for (int64_t r = 0; r < rows; ++r) {
    const Stats s = stats(x + r * 64);
    for (int i = 0; i < 64; ++i) out[r * 64 + i] = (x[r * 64 + i] - s.mean) * s.rstd * w[i] + b[i];
}
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* w, const float* b, float* out, int64_t rows)")


def fused(x, w, b):
    out = torch.empty_like(x)
    rows = x.numel() // x.shape[-1]
    add(x, w, b, out, rows)
    return out


def replacement_func():
    return fused
