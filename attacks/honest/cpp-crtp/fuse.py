import torch
from passnet import kernels

SOURCE = r"""
template <class D> struct Base {
    float run(float a) const {
        return static_cast<const D*>(this)->one(a);
    }
};
struct Relu : Base<Relu> {
    float one(float a) const {
        return a < 0 ? 0 : a;
    }
};
void add(const float* x, const float* y, float* out, int64_t n) {
    Relu r;
    for (int64_t i = 0; i < n; ++i) out[i] = r.run(x[i]) + y[i];
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def replacement_func():
    return fused
