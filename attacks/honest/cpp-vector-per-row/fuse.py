import torch

from passnet import kernels


def pattern(x):
    return torch.nn.functional.softmax(x, dim=-1)


def replacement_args(x):
    return (x,)


SOURCE = r"""
#include <vector>
#include <cmath>
void add(const float* x, float* out, int64_t rows, int64_t cols) {
for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * cols;
    float* o = out + r * cols;
    float m = -INFINITY;
    bool nan = false;
    for (int64_t c = 0; c < cols; ++c) { nan |= in[c] != in[c]; m = in[c] > m ? in[c] : m; }
    if (nan) m = NAN;
    std::vector<float> e(cols);
    float total = 0.0f;
    for (int64_t c = 0; c < cols; ++c) total += (e[c] = std::exp(in[c] - m));
    for (int64_t c = 0; c < cols; ++c) o[c] = e[c] / total;
}
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, float* out, int64_t rows, int64_t cols)")


def fused(x):
    cols = x.shape[-1]
    rows = x.numel() // cols
    out = torch.empty_like(x)
    add(x, out, rows, cols)
    return out


def replacement_func():
    return fused
