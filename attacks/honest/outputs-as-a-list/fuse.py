import torch

from passnet import kernels


def pattern(x, y):
    s = x + y
    r = torch.nn.functional.relu(s)
    return s, r


def replacement_args(x, y):
    return x, y


SOURCE = r"""
void add(const float* x, const float* y, float* s, float* r, int64_t n) {
for (int64_t i = 0; i < n; ++i) {
    const float t = x[i] + y[i];
    s[i] = t;
    r[i] = t < 0 ? 0 : t;
}
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* s, float* r, int64_t n)")


def fused(x, y):
    outs = [torch.empty_like(x) for _ in range(2)]
    add(x, y, *outs, x.numel())
    return tuple(outs)


def replacement_func():
    return fused
