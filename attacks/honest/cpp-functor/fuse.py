import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


kernel = kernels.cpp(
    """
    struct Relu {
        float floor;
        float operator()(float v) const { return v < floor ? floor : v; }
    };
    template <class F>
    static void zip(const float* x, const float* y, float* out, int64_t n, F f) {
        for (int64_t i = 0; i < n; ++i) out[i] = f(x[i]) + y[i];
    }
    void relu_add(const float* x, const float* y, float* out, int64_t n) { zip(x, y, out, n, Relu{0.0f}); }
    """,
    "void relu_add(const float* x, const float* y, float* out, int64_t n)",
)


def fused(x, y):
    out = torch.empty_like(x)
    kernel(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
