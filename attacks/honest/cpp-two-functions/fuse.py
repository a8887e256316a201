import torch

from passnet import kernels


def pattern(x):
    return x.sum(-1)


def replacement_args(x):
    return (x,)


SOURCE = """
void half_sums(const float* x, float* scratch, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t h = 0; h < 2; ++h) {
            float total = 0.0f;
            for (int64_t i = 0; i < width / 2; ++i) total += x[r * width + h * (width / 2) + i];
            scratch[2 * r + h] = total;
        }
}
void join(const float* scratch, float* out, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) out[r] = scratch[2 * r] + scratch[2 * r + 1];
}
"""
half_sums, join = kernels.cpp(
    SOURCE,
    "void half_sums(const float* x, float* scratch, int64_t rows, int64_t width)",
    "void join(const float* scratch, float* out, int64_t rows)",
)


def fused(x):
    rows, width = x.shape
    scratch = torch.empty((rows, 2), dtype=x.dtype)
    out = torch.empty((rows,), dtype=x.dtype)
    half_sums(x, scratch, rows, width)
    join(scratch, out, rows)
    return out


def replacement_func():
    return fused
