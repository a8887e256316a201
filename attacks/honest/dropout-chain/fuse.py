import torch

from passnet import kernels


def pattern(x):
    x = torch.nn.functional.dropout(x, 0.1, False, False)
    x = torch.nn.functional.relu(x, inplace=False)
    x = torch.tanh(x)
    return torch.sigmoid(x)


def replacement_args(x):
    return (x,)


SOURCE = r"""
void add(const float* x, float* out, int64_t n) {
for (int64_t i = 0; i < n; ++i) {
    float v = x[i];
    if (v < 0) v = 0;
    v = std::tanh(v);
    out[i] = 1.0f / (1.0f + std::exp(-v));
}
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, float* out, int64_t n)")


def fused(x):
    out = torch.empty_like(x)
    add(x, out, x.numel())
    return out


def replacement_func():
    return fused
