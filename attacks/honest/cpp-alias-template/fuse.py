import torch

from passnet import kernels

add = kernels.cpp(
    r"""
using Index = int64_t;
template <typename T> using Pointer = T*;

void add(Pointer<const float> x, Pointer<const float> y, Pointer<float> out, Index n) {
    for (Index i = 0; i < n; ++i) out[i] = (x[i] < 0 ? 0 : x[i]) + y[i];
}
""",
    "void add(const float* x, const float* y, float* out, int64_t n)",
)


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
