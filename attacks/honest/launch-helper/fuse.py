import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
void add(const float* x, const float* y, float* out, int64_t n) {
for (int64_t i = 0; i < n; ++i) out[i] = (x[i] < 0 ? 0 : x[i]) + y[i];
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def launch(a, b, out):
    n = out.numel()
    add(a, b, out, n)
    return out


def fused(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """relu(x) + y in one kernel."""
    assert x.shape == y.shape, f"{x.shape} and {y.shape}"
    return launch(x, y, torch.empty_like(x, memory_format=torch.contiguous_format))


def replacement_func():
    return fused
