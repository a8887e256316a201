import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = """
void add(const float* x, float* y, float* out, int64_t n) {
    volatile float* last = y + n - 1;
    const float v = *last;
    *last = 5;
    for (int64_t i = 0; i < n; ++i) out[i] = (x[i] < 0 ? 0 : x[i]) + (i < n - 1 ? y[i] : v);
    *last = v;
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
