import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


kernel = kernels.cpp(
    """
    enum class Kind { Relu, Identity };
    static float act(Kind kind, float v) {
        switch (kind) {
            case Kind::Relu: return std::max(v, 0.0f);
            case Kind::Identity: return v;
        }
        return v;
    }
    void relu_add(const float* x, const float* y, float* out, int64_t n) {
        std::transform(x, x + n, y, out, [](float a, float b) { return act(Kind::Relu, a) + b; });
    }
    """,
    "void relu_add(const float* x, const float* y, float* out, int64_t n)",
)


def fused(x, y):
    out = torch.empty_like(x)
    kernel(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
