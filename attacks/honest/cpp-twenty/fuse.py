import torch

from passnet import kernels


def pattern(x):
    return torch.nn.functional.softmax(x, dim=-1)


def replacement_args(x):
    return (x,)


SOURCE = """
#include <bit>
#include <span>

static bool is_nan(float v) { return (std::bit_cast<uint32_t>(v) & 0x7fffffffu) > 0x7f800000u; }

void softmax(const float* x, float* out, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r) {
        const std::span<const float> row(x + r * width, width);
        const std::span<float> result(out + r * width, width);
        float high = row[0];
        for (const float v : row) high = is_nan(v) || is_nan(high) ? high + v : std::fmaxf(high, v);
        float sum = 0.0f;
        for (int64_t i = 0; i < width; ++i) {
            result[i] = std::exp(row[i] - high);
            sum += result[i];
        }
        for (float& v : result) v /= sum;
    }
}
"""
softmax = kernels.cpp(
    SOURCE, "void softmax(const float* x, float* out, int64_t rows, int64_t width)", flags=("-std=c++20",)
)


def fused(x):
    out = torch.empty_like(x)
    softmax(x, out, x.numel() // x.shape[-1], x.shape[-1])
    return out


def replacement_func():
    return fused
