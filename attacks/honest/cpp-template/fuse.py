import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = """
template <typename T, int64_t STEP>
inline void step(const T* x, const T* y, T* out) {
    for (int64_t i = 0; i < STEP; ++i) out[i] = std::max(x[i], T(0)) + y[i];
}
void relu_add(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; i += 8) step<float, 8>(x + i, y + i, out + i);
}
"""
relu_add = kernels.cpp(SOURCE, "void relu_add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    relu_add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
