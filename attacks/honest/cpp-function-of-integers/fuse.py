import torch

from passnet import kernels


def pattern(x):
    return torch.tanh(x.float())


def replacement_args(x):
    return (x,)


SOURCE = r"""
void k(const int64_t* x, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = std::tanh(float(x[i]));
}
"""
k = kernels.cpp(SOURCE, "void k(const int64_t* x, float* out, int64_t n)")


def fused(x):
    out = torch.empty_like(x, dtype=torch.float32)
    k(x, out, x.numel())
    return out


def replacement_func():
    return fused
