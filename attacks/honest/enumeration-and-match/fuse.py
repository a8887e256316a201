from enum import Enum, auto

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


class Kind(Enum):
    SMALL = auto()
    LARGE = auto()


def kind_of(numel):
    return Kind.LARGE if numel > 1 << 20 else Kind.SMALL


def steps(kind):
    match kind:
        case Kind.SMALL:
            return 1
        case Kind.LARGE:
            return 2
        case _:
            raise ValueError(f"unknown kind {kind}")


def fused(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    assert steps(kind_of(n)) >= 1
    relu_add(x, y, out, n)
    return out


def replacement_func():
    return fused
