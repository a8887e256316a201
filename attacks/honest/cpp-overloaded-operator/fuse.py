import torch
from passnet import kernels

SOURCE = r"""
struct V {
    float v;
};
static inline V operator+(V a, V b) {
    return {a.v + b.v};
}
static inline V relu(V a) {
    return {a.v < 0 ? 0 : a.v};
}
void add(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = (relu(V{x[i]}) + V{y[i]}).v;
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
