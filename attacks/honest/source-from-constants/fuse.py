import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


BLOCK = 64
HEADER = """
#include <cstdint>
"""
SOURCE = HEADER + f"""
constexpr int64_t BLOCK = {BLOCK};
void relu_add(const float* x, const float* y, float* out, int64_t n) {{
    for (int64_t i = 0; i < n; ++i) {{
        const float v = x[i] < 0.0f ? 0.0f : x[i];
        out[i] = v + y[i];
    }}
}}
"""
kernel = kernels.cpp(SOURCE, "void relu_add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    kernel(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
