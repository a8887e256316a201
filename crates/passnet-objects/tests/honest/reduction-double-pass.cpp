static double mean_of(const float* x, int64_t n) { double sum = 0; for (int64_t i = 0; i < n; ++i) sum += x[i]; return n ? sum / n : 0; }
static void normalise(const float* x, float* out, int64_t n, double mean, double deviation) {
    const float scale = float(1 / deviation), shift = float(-mean / deviation);
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] * scale + shift;
}
void k(const float* x, float* out, int64_t n) {
    double mean = mean_of(x, n), sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += (x[i] - mean) * (x[i] - mean);
    normalise(x, out, n, mean, std::sqrt(sum / n + 1e-5));
}
