import torch

from passnet import kernels


def pattern(x):
    return torch.nn.functional.softmax(x, dim=-1)


def replacement_args(x):
    return (x,)


softmax_row = kernels.cpp(
    """
    void softmax_row(const float* x, float* out, int64_t row, int64_t width) {
        const float* v = x + row * width;
        float* u = out + row * width;
        float top = v[0], total = 0.0f;
        for (int64_t i = 1; i < width; ++i) top = std::max(top, v[i]);
        for (int64_t i = 0; i < width; ++i) total += u[i] = std::exp(v[i] - top);
        for (int64_t i = 0; i < width; ++i) u[i] /= total;
    }
    """,
    "void softmax_row(const float* x, float* out, int64_t row, int64_t width)",
)


def fused(x):
    out = torch.empty_like(x)
    for row in range(x.shape[0]):
        softmax_row(x, out, row, x.shape[1])
    return out


def replacement_func():
    return fused
