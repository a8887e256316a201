// signature: void k(const float* x, float* out, int64_t m, int64_t n)
void k(const float* x, float* out, int64_t m, int64_t n) {
    std::vector<float> scratch(n);
    for (int64_t i = 0; i < m; ++i) {
        const float* row = x + i * n;
        const float peak = *std::max_element(row, row + n);
        double sum = 0.0;
        for (int64_t j = 0; j < n; ++j) {
            scratch[j] = std::exp(row[j] - peak);
            sum += scratch[j];
        }
        for (int64_t j = 0; j < n; ++j) out[i * n + j] = static_cast<float>(scratch[j] / sum);
    }
}
