import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


SOURCE = r"""
void add(int64_t x, int64_t y, int64_t out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) ((float*)out)[i] = (((float*)x)[i] < 0 ? 0 : ((float*)x)[i]) + ((float*)y)[i];
}
"""
add = kernels.cpp(SOURCE, "void add(int64_t x, int64_t y, int64_t out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x.data_ptr(), y.data_ptr(), out.data_ptr(), x.numel())
    return out


def replacement_func():
    return fused
