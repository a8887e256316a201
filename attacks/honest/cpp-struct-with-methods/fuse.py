import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
struct Op {
    const float* a;
    const float* b;
    inline float at(int64_t i) const { float v = a[i]; return (v < 0.f ? 0.f : v) + b[i]; }
};
void add(const float* x, const float* y, float* out, int64_t n) {
Op op{x, y};
for (int64_t i = 0; i < n; ++i) out[i] = op.at(i);
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
