import torch

from passnet import kernels


def pattern(x):
    magnitude = torch.abs(x)
    return magnitude / (magnitude.mean(-1, keepdim=True) + 1e-05)


def replacement_args(x):
    return (x,)


SOURCE = r"""
void k(const uint64_t* x, float* out, int64_t rows, int64_t w) {
    for (int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (int64_t i = r * w; i < (r + 1) * w; ++i) {
            float parts[2];
            std::memcpy(parts, x + i, 8);
            out[i] = std::hypot(parts[0], parts[1]);
            sum += out[i];
        }
        const float mean = sum / w;
        for (int64_t i = r * w; i < (r + 1) * w; ++i) out[i] = out[i] / (mean + 1e-5f);
    }
}
"""
k = kernels.cpp(SOURCE, "void k(const uint64_t* x, float* out, int64_t rows, int64_t w)")


def fused(x):
    out = torch.empty_like(x, dtype=torch.float32)
    k(x, out, x.shape[0], x.shape[1])
    return out


def replacement_func():
    return fused
