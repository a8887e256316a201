import torch

from passnet import kernels

add = kernels.cpp(
    r"""
namespace detail {
namespace impl {
constexpr float zero = 0.0f;
inline float relu(float v) { return v < zero ? zero : v; }
}
using impl::relu;
}
void add(const float* x, const float* y, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = detail::relu(x[i]) + y[i];
}
""",
    "void add(const float* x, const float* y, float* out, int64_t n)",
)


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
