// signature: void k(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t p)
void k(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t p) {
    std::fill(c, c + m * n, 0.0f);
    for (int64_t i0 = 0; i0 < m; i0 += 32)
        for (int64_t l0 = 0; l0 < p; l0 += 32)
            for (int64_t i = i0; i < std::min(m, i0 + 32); ++i)
                for (int64_t l = l0; l < std::min(p, l0 + 32); ++l)
                    for (int64_t j = 0; j < n; ++j) c[i * n + j] += a[i * p + l] * b[l * n + j];
}
