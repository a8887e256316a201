import torch
from passnet import kernels

SOURCE = r"""
template <class T> struct Span {
    T* data;
    int64_t size;
    T& operator[](int64_t i) const {
        return data[i];
    }
    T* begin() const {
        return data;
    }
    T* end() const {
        return data + size;
    }
};
void add(const float* x, const float* y, float* out, int64_t n) {
    Span<const float> a{x, n}, b{y, n};
    Span<float> o{out, n};
    for (int64_t i = 0; i < o.size; ++i) o[i] = (a[i] < 0 ? 0 : a[i]) + b[i];
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
