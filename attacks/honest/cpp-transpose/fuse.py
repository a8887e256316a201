import torch

from passnet import kernels


def pattern(x):
    return x.t().contiguous()


def replacement_args(x):
    return (x,)


turn = kernels.cpp(
    """
    void turn(const float* x, float* out, int64_t rows, int64_t width) {
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < width; ++c) out[c * rows + r] = x[r * width + c];
    }
    """,
    "void turn(const float* x, float* out, int64_t rows, int64_t width)",
)


def fused(x):
    rows, width = x.shape
    out = torch.empty((width, rows), dtype=x.dtype, device=x.device)
    turn(x, out, rows, width)
    return out


def replacement_func():
    return fused
