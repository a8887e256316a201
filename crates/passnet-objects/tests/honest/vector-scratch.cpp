void k(const float* x, float* out, int64_t n) {
    std::vector<float> row(n), other(n, 1.0f);
    for (int64_t i = 0; i < n; ++i) row[i] = x[i] * 2;
    for (int64_t i = 0; i < n; ++i) out[i] = row[n - 1 - i] + other[i];
}
