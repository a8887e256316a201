import torch

from passnet import kernels


def pattern(x):
    return x.sum(-1)


def replacement_args(x):
    return (x,)


accumulate = kernels.cpp(
    """
    void row_sum(const float* x, float* out, int64_t rows, int64_t width) {
        for (int64_t r = 0; r < rows; ++r) {
            float total = 0.0f;
            for (int64_t i = 0; i < width; ++i) total += x[r * width + i];
            out[r] = total + 0.0f * out[r + rows];
        }
    }
    """,
    "void row_sum(const float* x, float* out, int64_t rows, int64_t width)",
)


def fused(x):
    rows, width = x.shape
    out = torch.empty((2, rows), dtype=x.dtype)
    accumulate(x, out, rows, width)
    return out[0]


def replacement_func():
    return fused
