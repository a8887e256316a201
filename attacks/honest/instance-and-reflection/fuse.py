from dataclasses import dataclass, replace

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


HAS_FLOAT8 = hasattr(torch, "float8_e4m3fn")
FLOAT8 = getattr(torch, "float8_e4m3fn", None)


@dataclass(frozen=True)
class ReluAdd:
    block: int = 64
    name: str = "relu_add"

    def check(self, n):
        if type(n) is not int:
            raise TypeError(f"{self.name}: expected int, got {type(n).__name__}")
        assert callable(relu_add), f"{type(self).__name__} has no kernel"

    def __call__(self, x, y):
        if HAS_FLOAT8 and getattr(x, "dtype") == FLOAT8:
            raise TypeError(self.name)
        out = getattr(x, "new_empty")(x.shape)
        n = getattr(x, "numel")()
        self.check(n)
        relu_add(x, y, out, n)
        return out


fused = replace(ReluAdd(), block=128)


def replacement_func():
    return fused
