import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = """
#include <cstdint>
void relu_add(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const float v = x[i] < 0.0f ? 0.0f : x[i];
        out[i] = v + y[i];
    }
}
"""
relu_add = kernels.cpp(SOURCE, "void relu_add(const float* x, const float* y, float* out, int64_t n)")


class ReluAdd:
    """A callable kernel wrapper."""

    def __init__(self, kernel, block=1024):
        self.kernel = kernel
        self.block = block

    def __call__(self, x, y):
        out = torch.empty_like(x)
        self.kernel(x, y, out, x.numel())
        return out


_op = ReluAdd(relu_add)


def fused(x, y):
    return _op(x, y)


def replacement_func():
    return fused
