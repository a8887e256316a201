import torch

from passnet import kernels


def pattern(x, y):
    first = x == y
    return first.all(-1)


def replacement_args(x, y):
    return x, y


SOURCE = r"""
void k(const float* x, const float* y, uint8_t* out, int64_t rows, int64_t w) {
    for (int64_t r = 0; r < rows; ++r) {
        bool equal = true;
        for (int64_t i = r * w; equal && i < (r + 1) * w; ++i) equal = x[i] == y[i];
        out[r] = equal;
    }
}
"""
k = kernels.cpp(SOURCE, "void k(const float* x, const float* y, uint8_t* out, int64_t rows, int64_t w)")


def fused(x, y):
    out = torch.empty((x.shape[0],), dtype=torch.bool)
    k(x, y, out, x.shape[0], x.shape[1])
    return out


def replacement_func():
    return fused
