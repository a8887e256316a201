void k(const float* x, float* out, int64_t n) {
    float buffer[4096];
    for (int64_t start = 0; start < n; start += 4096) {
        int64_t count = std::min<int64_t>(4096, n - start);
        for (int64_t i = 0; i < count; ++i) buffer[i] = std::sqrt(std::fabs(x[start + i]));
        for (int64_t i = 0; i < count; ++i) out[start + i] = buffer[count - 1 - i];
    }
}
