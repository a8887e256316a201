void k(const float* x, float* out, int64_t n) {
    for (int64_t width = 1; width <= n; width *= 2) {
        float buffer[width];
        for (int64_t i = 0; i < width; ++i) buffer[i] = x[i] + width;
        for (int64_t i = 0; i < width; ++i) out[i] = buffer[width - 1 - i];
    }
}
