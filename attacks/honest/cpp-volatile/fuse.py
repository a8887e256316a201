import torch
from passnet import kernels

SOURCE = r"""
static float f(const volatile float* a, int64_t i) {
    return a[i];
}
void add(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        float v = f(x, i);
        out[i] = (v < 0 ? 0 : v) + y[i];
    }
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def replacement_func():
    return fused
