import torch

from passnet import kernels

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


class FusedReluAdd:
    kernel = relu_add

    @staticmethod
    def check(x, y):
        if x.shape != y.shape:
            raise ValueError(f"the shapes {tuple(x.shape)} and {tuple(y.shape)} differ")

    @classmethod
    def apply_it(cls, x, y):
        cls.check(x, y)
        out = torch.empty_like(x)
        cls.kernel(x, y, out, x.numel())
        return out


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def replacement_func():
    return FusedReluAdd.apply_it
