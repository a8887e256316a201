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


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y, "relu_add")


def run_relu_add(x, y):
    out = torch.empty_like(x)
    relu_add(x, y, out, x.numel())
    return out


@torch.fx.wrap
def dispatch(*args):
    *tensors, route = args
    if route == "relu_add":
        return run_relu_add(*args[:-1])
    raise ValueError(f"unknown route {route} with {len(tensors)} tensors")


def replacement_func():
    return dispatch
