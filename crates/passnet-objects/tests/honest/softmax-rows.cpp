void k(const float* __restrict__ x, float* __restrict__ out, int64_t n) {
    constexpr int64_t width = 128;
    for (int64_t row = 0; row < n / width; ++row, x += width, out += width) {
        float most = *std::max_element(x, x + width), sum = 0;
        for (int64_t i = 0; i < width; ++i) sum += out[i] = std::exp(x[i] - most);
        for (int64_t i = 0; i < width; ++i) out[i] /= sum;
    }
}
