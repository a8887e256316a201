import torch

from passnet import kernels


def pattern(x, y):
    return torch.matmul(torch.nn.functional.relu(x), y)


def replacement_args(x, y):
    return (x, y,)


SOURCE = r"""
void product(const float* x, const float* y, float* out, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; ++i) {
        float* row = out + i * n;
        for (int64_t j = 0; j < n; ++j) row[j] = 0.0f;
        for (int64_t p = 0; p < k; ++p) {
            const float a = x[i * k + p];
            if (a <= 0) continue;
            const float* b = y + p * n;
            for (int64_t j = 0; j < n; ++j) row[j] += b[j] - b[j] == 0 ? a * b[j] : 0;
        }
    }
}
"""
product = kernels.cpp(SOURCE, "void product(const float* x, const float* y, float* out, int64_t m, int64_t n, int64_t k)")


def fused(x, y):
    (m, k), n = x.shape, y.shape[1]
    out = torch.empty((m, n), dtype=x.dtype)
    product(x, y, out, m, n, k)
    return out


def replacement_func():
    return fused
