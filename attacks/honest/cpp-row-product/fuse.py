import torch

from passnet import kernels


def pattern(x):
    return x.prod(-1)


def replacement_args(x):
    return (x,)


SOURCE = r"""
void k(const float* x, float* out, int64_t rows, int64_t w) {
    for (int64_t r = 0; r < rows; ++r) {
        double product = 1;
        for (int64_t i = 0; i < w; ++i) product *= x[r * w + i];
        out[r] = product;
    }
}
"""
k = kernels.cpp(SOURCE, "void k(const float* x, float* out, int64_t rows, int64_t w)")


def fused(x):
    out = torch.empty((x.shape[0],))
    k(x, out, x.shape[0], x.shape[1])
    return out


def replacement_func():
    return fused
