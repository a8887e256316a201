import torch

from passnet import kernels


def pattern(x):
    return torch.nn.functional.gelu(x)


def replacement_args(x):
    return (x,)


SOURCE = r"""
constexpr float COEF[] = {0.5f, 1.0f, 0.70710678118654752440f};
void add(const float* x, float* out, int64_t n) {
for (int64_t i = 0; i < n; ++i) {
    out[i] = COEF[0] * x[i] * (COEF[1] + std::erf(x[i] * COEF[2]));
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
