import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


SOURCE = r"""
void add(const float* x, const float* y, float* out, int64_t n) {
    float* own = (float*)x;
    for (int64_t i = 0; i < n; ++i) { const float v = x[i]; own[i] = v < 0 ? 0 : v; out[i] = own[i] + y[i]; own[i] = v; }
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
