#include <atomic>
// flags: -fopenmp
void k(const float* x, float* out, int64_t n) {
    std::atomic<int64_t> count{0};
    #pragma omp parallel for
    for (int64_t i = 0; i < n; ++i) { if (x[i] > 0) count.fetch_add(1, std::memory_order_relaxed); out[i] = x[i]; }
    float total = 0;
    #pragma omp parallel for
    for (int64_t i = 0; i < n; ++i) {
        #pragma omp atomic
        total += x[i];
    }
    out[0] = float(count.load()) + total;
}
