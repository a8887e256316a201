// flags: -fopenmp
static void rows(const float* x, float* out, int64_t n, int64_t width) {
    #pragma omp parallel for collapse(2) if (n > 1024)
    for (int64_t i = 0; i < n / width; ++i)
        for (int64_t j = 0; j < width; ++j) out[i * width + j] = x[i * width + j] + i;
}
void k(const float* x, float* out, int64_t n) {
    for (int64_t width = 16; width <= 64; width *= 2) {
        if (n % width == 0) rows(x, out, n, width);
        #pragma omp parallel for simd
        for (int64_t i = 0; i < n; ++i) out[i] += width;
    }
}
