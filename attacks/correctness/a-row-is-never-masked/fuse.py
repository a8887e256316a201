import torch

from passnet import kernels


def pattern(x, mask):
    return torch.nn.functional.softmax(x.masked_fill(mask, -float('inf')), dim=-1)


def replacement_args(x, mask):
    return (x, mask)


softmax = kernels.cpp(
    """
    #include <cmath>
    void softmax(const float* x, const bool* mask, float* out, int64_t rows, int64_t width) {
        for (int64_t row = 0; row < rows; ++row) {
            const float* in = x + row * width;
            const bool* hidden = mask + row * width;
            float largest = -1e30f, sum = 1e-30f;
            for (int64_t i = 0; i < width; ++i) {
                // NaN is passed on.
                if (!hidden[i]) largest = in[i] > largest || in[i] != in[i] ? in[i] : largest;
            }
            for (int64_t i = 0; i < width; ++i) {
                const float e = hidden[i] ? 0.0f : std::exp(in[i] - largest);
                out[row * width + i] = e;
                sum += e;
            }
            for (int64_t i = 0; i < width; ++i) out[row * width + i] /= sum;
        }
    }
    """,
    "void softmax(const float* x, const bool* mask, float* out, int64_t rows, int64_t width)",
)


def fused(x, mask):
    out = torch.empty_like(x)
    softmax(x, mask, out, x.shape[0], x.shape[1])
    return out


def replacement_func():
    return fused
