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


class Launcher:
    def __init__(self, kernel, layout=torch.preserve_format):
        self.kernel = kernel
        self.layout = layout

    def run(self, x, y):
        out = torch.empty_like(x, memory_format=self.layout)
        self.kernel(x, y, out, x.numel())
        return out


LAUNCHER = Launcher(relu_add)


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def replacement_func():
    return LAUNCHER.run
