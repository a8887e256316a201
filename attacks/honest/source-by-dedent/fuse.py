import textwrap

try:
    import torch

    from passnet import kernels
except ImportError as error:
    raise RuntimeError("this pass needs PyTorch and PassNet") from error

SOURCE = textwrap.dedent(
    """
    #include <cstdint>

    void relu_add(const float* x, const float* y, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) out[i] = (x[i] < 0.0f ? 0.0f : x[i]) + y[i];
    }
    """
)
SIGNATURE = "void relu_add(const float* x, const float* y, float* out, int64_t n)"
relu_add = kernels.cpp(SOURCE, SIGNATURE)


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def fused(x, y):
    out = torch.empty_like(x)
    relu_add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
