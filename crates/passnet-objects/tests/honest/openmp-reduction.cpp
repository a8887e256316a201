// flags: -fopenmp
#include <omp.h>
void k(const float* x, float* out, int64_t n) {
    double sum = 0;
    float most = -1e30f;
    #pragma omp parallel for reduction(+ : sum) reduction(max : most) schedule(static)
    for (int64_t i = 0; i < n; ++i) { sum += x[i]; most = std::max(most, x[i]); }
    #pragma omp parallel
    {
        int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
        for (int64_t i = thread; i < n; i += threads) out[i] = float(x[i] / sum) + most;
        #pragma omp critical
        out[0] += 1;
        #pragma omp barrier
        #pragma omp single
        out[1] = 0;
    }
}
