// flags: -fopenmp-simd
void k(const float* x, float* out, int64_t n) {
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    #pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] / sum;
}
