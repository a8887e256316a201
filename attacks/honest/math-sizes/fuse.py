import math

import torch

from passnet import kernels


def pattern(x):
    return torch.nn.functional.softmax(x, dim=-1)


def replacement_args(x):
    return (x,)


softmax = kernels.cpp(
    """
    void softmax(const float* x, float* out, int64_t rows, int64_t width, float least) {
        for (int64_t r = 0; r < rows; ++r) {
            const float* v = x + r * width;
            float* u = out + r * width;
            float top = least, total = 0.0f;
            for (int64_t i = 0; i < width; ++i) top = std::max(top, v[i]);
            for (int64_t i = 0; i < width; ++i) total += u[i] = std::exp(v[i] - top);
            for (int64_t i = 0; i < width; ++i) u[i] /= total;
        }
    }
    """,
    "void softmax(const float* x, float* out, int64_t rows, int64_t width, float least)",
)


def fused(x):
    width = x.size(-1)
    rows = math.prod(x.shape[:-1])
    out = torch.empty_like(x)
    softmax(x, out, rows, width, -3.0e38)
    return out


def replacement_func():
    return fused
