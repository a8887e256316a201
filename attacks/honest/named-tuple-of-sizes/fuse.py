from typing import NamedTuple

import torch

from passnet import kernels


def pattern(x):
    return torch.nn.functional.softmax(x, dim=-1)


def replacement_args(x):
    return (x,)


SOURCE = """
#include <cmath>
#include <cstdint>
void softmax(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; ++r) {
        const float* in = x + r * cols;
        float* o = out + r * cols;
        float m = -INFINITY;
        for (int64_t c = 0; c < cols; ++c) m = in[c] > m || in[c] != in[c] ? in[c] : m;
        float sum = 0.0f;
        for (int64_t c = 0; c < cols; ++c) sum += o[c] = std::exp(in[c] - m);
        for (int64_t c = 0; c < cols; ++c) o[c] /= sum;
    }
}
"""
softmax = kernels.cpp(SOURCE, "void softmax(const float* x, float* out, int64_t rows, int64_t cols)")


class Matrix(NamedTuple):
    rows: int
    cols: int

    @classmethod
    def of(cls, x):
        *lead, cols = x.shape
        return cls(rows=x.numel() // cols, cols=cols)


def fused(x):
    out = torch.empty_like(x)
    softmax(x, out, *Matrix.of(x))
    return out


def replacement_func():
    return fused
