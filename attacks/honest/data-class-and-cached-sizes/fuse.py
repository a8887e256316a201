import functools
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Plan:
    shape: tuple
    dtype: torch.dtype

    @property
    def numel(self) -> int:
        return count(self.shape)

    def allocate(self):
        return torch.empty(self.shape, dtype=self.dtype)


@functools.lru_cache(maxsize=None)
def count(shape):
    n = 1
    for size in shape:
        n *= size
    return n


def fused(x, y):
    plan = Plan(shape=tuple(x.shape), dtype=x.dtype)
    out = plan.allocate()
    relu_add(x, y, out, plan.numel)
    return out


def replacement_func():
    return fused
