from functools import partial, reduce
import operator

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


def _run(x, y, kernel):
    out = torch.empty_like(x)
    n = reduce(operator.mul, x.shape, 1)
    kernel(x, y, out, n)
    return out


def make(kernel):
    run = partial(_run, kernel=kernel)

    def wrapper(x, y):
        return run(x, y)

    return wrapper


fused = make(relu_add)


def replacement_func():
    return fused
