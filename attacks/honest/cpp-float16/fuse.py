import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.silu(x) * y


def replacement_args(x, y):
    return (x, y)


SOURCE = """
void silu_mul(const element* x, const element* y, element* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        float v = float(x[i]);
        float s = float(element(v / (1.0f + std::exp(-v))));
        out[i] = element(s * float(y[i]));
    }
}
"""
SIGNATURE = "void silu_mul(const element* x, const element* y, element* out, int64_t n)"

silu_mul = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float16",))


def fused(x, y):
    out = torch.empty_like(x)
    silu_mul(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
