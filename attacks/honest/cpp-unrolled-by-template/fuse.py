import torch
from passnet import kernels

SOURCE = r"""
template <int N> static inline void step(const float* x, const float* y, float* out) {
    if constexpr (N > 0) {
        step<N - 1>(x, y, out);
        out[N - 1] = (x[N - 1] < 0 ? 0 : x[N - 1]) + y[N - 1];
    }
}
void add(const float* x, const float* y, float* out, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) step<8>(x + i, y + i, out + i);
    for (; i < n; ++i) step<1>(x + i, y + i, out + i);
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
