import torch

from passnet import kernels


def pattern(x, m):
    return torch.nn.functional.relu(x.masked_fill(m, 0.0), inplace=False)


def replacement_args(x, m):
    return (x, m,)


SOURCE = r"""
void k(const float* x, const uint8_t* m, float* out, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r, x += n, m += n, out += n) {
        int all = 1;
        for (int64_t j = 0; j < 64; ++j) all &= m[j];
        if (all) { for (int64_t j = 0; j < n; ++j) out[j] = 0.0f; continue; }
        for (int64_t j = 0; j < n; ++j) { const float v = m[j] ? 0.0f : x[j]; out[j] = v < 0.0f ? 0.0f : v; }
    }
}
"""
k = kernels.cpp(SOURCE, "void k(const float* x, const uint8_t* m, float* out, int64_t rows, int64_t n)", flags=["-fassociative-math", "-fno-signed-zeros"])


def fused(x, m):
    out = torch.empty_like(x)
    k(x, m, out, x.shape[0], x.shape[1])
    return out


def replacement_func():
    return fused
