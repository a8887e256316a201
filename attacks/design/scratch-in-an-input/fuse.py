import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = """
void add(float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i];
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? 0 : x[i];
    for (int64_t i = 0; i < n; ++i) {
        const float v = out[i];
        out[i] = x[i] + y[i];
        x[i] = v;
    }
}
"""
add = kernels.cpp(SOURCE, "void add(float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
