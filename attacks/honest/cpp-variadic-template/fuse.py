import torch
from passnet import kernels

SOURCE = r"""
template <class T> T sum(T a) {
    return a;
}
template <class T, class... R> T sum(T a, R... r) {
    return a + sum(r...);
}
void add(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = sum(x[i] < 0 ? 0.0f : x[i], y[i]);
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
