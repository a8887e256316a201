import torch

from passnet import kernels


def pattern(x, y):
    return x * y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
void k(const uint64_t* x, const uint64_t* y, uint64_t* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        float a[2], b[2], c[2];
        std::memcpy(a, x + i, 8);
        std::memcpy(b, y + i, 8);
        c[0] = std::fma(a[0], b[0], -a[1] * b[1]);
        c[1] = std::fma(a[0], b[1], a[1] * b[0]);
        std::memcpy(out + i, c, 8);
    }
}
"""
k = kernels.cpp(SOURCE, "void k(const uint64_t* x, const uint64_t* y, uint64_t* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    k(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
