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


class Launch(torch.autograd.Function):
    @staticmethod
    def forward(ctx, kernel, x, y):
        out = torch.empty_like(x)
        kernel(x, y, out, x.numel())
        return out


class ReluAdd(torch.nn.Module):
    """Wraps the kernel."""

    def __init__(self, kernel):
        super().__init__()
        self.kernel = kernel

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return Launch.apply(self.kernel, x, y)


relu_add_module = ReluAdd(relu_add).eval()


def replacement_func():
    return relu_add_module
