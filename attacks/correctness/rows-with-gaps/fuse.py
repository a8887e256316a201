import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


relu_add = kernels.cpp(
    """
    void relu_add(const float* x, const float* y, float* out, int64_t rows, int64_t width, int64_t stride) {
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t i = 0; i < width; ++i) {
                float v = x[r * width + i];
                out[r * stride + i] = (v < 0.0f ? 0.0f : v) + y[r * width + i];
            }
    }
    """,
    "void relu_add(const float* x, const float* y, float* out, int64_t rows, int64_t width, int64_t stride)",
)


def fused(x, y):
    width = x.shape[-1]
    rows = x.numel() // width
    buffer = torch.empty((rows, width + 8), dtype=x.dtype, device=x.device)
    relu_add(x, y, buffer, rows, width, width + 8)
    return buffer[:, :width]


def replacement_func():
    return fused
