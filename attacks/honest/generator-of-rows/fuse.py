from collections.abc import Iterator

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


def starts(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Yields the first element and the end of each part."""
    for start in range(0, n, size):
        yield start, min(start + size, n)


def parts(x: torch.Tensor) -> Iterator[torch.Tensor]:
    flat = x.view(-1)
    yield from (flat[start:end] for start, end in starts(x.numel(), 512))


def fused(x, y):
    out = torch.empty_like(x)
    first = next(parts(x), None)
    if first is not None:
        for a, b, c in zip(parts(x), parts(y), parts(out)):
            relu_add(a, b, c, a.numel())
    return out


def replacement_func():
    return fused
