import torch

from passnet import kernels


def pattern(x):
    return x.sum(-1)


def replacement_args(x):
    return (x,)


SOURCE = r"""
void add(const float* x, float* out, int64_t rows, int64_t cols) {
for (int64_t r = 0; r < rows; ++r) {
    double acc = 0.0;
    for (int64_t c = 0; c < cols; ++c) acc += static_cast<double>(x[r * cols + c]);
    out[r] = static_cast<float>(acc);
}
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, float* out, int64_t rows, int64_t cols)")


def fused(x):
    *lead, cols = x.shape
    out = torch.empty(lead, dtype=x.dtype, device=x.device)
    add(x, out, out.numel(), cols)
    return out


def replacement_func():
    return fused
