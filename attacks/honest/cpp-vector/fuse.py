import torch

from passnet import kernels


def pattern(x, weight, bias):
    return torch.nn.functional.layer_norm(x, (64,), weight, bias, 1e-05)


def replacement_args(x, weight, bias):
    return (x, weight, bias)


SOURCE = """
void norm(const float* x, const float* w, const float* b, float* out, int64_t rows, int64_t width, float eps) {
    std::vector<float> centred(width);
    for (int64_t r = 0; r < rows; ++r) {
        const float* v = x + r * width;
        float mean = row_sum(v, width) / width;
        float total = 0.0f;
        for (int64_t i = 0; i < width; ++i) {
            centred[i] = v[i] - mean;
            total += centred[i] * centred[i];
        }
        float inverse = 1.0f / std::sqrt(total / width + eps);
        for (int64_t i = 0; i < width; ++i) out[r * width + i] = centred[i] * inverse * w[i] + b[i];
    }
}
"""
norm = kernels.cpp(
    SOURCE,
    "void norm(const float* x, const float* w, const float* b, float* out, int64_t rows, int64_t width, float eps)",
)


def fused(x, weight, bias):
    out = torch.empty_like(x)
    rows, width = x.shape
    norm(x, weight, bias, out, rows, width, 1e-05)
    return out


def replacement_func():
    return fused
