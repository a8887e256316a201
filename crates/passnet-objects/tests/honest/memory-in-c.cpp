#include <stdlib.h>
void k(const float* x, float* out, int64_t n) {
    float* scratch = (float*)malloc(n * sizeof(float));
    float* sums = (float*)calloc(4, sizeof(float));
    double* wide = static_cast<double*>(std::aligned_alloc(64, 64));
    wide[0] = 0;
    for (int64_t i = 0; i < n; ++i) scratch[i] = x[i] > 0 ? x[i] : 0;
    for (int64_t i = 0; i < n; ++i) sums[i & 3] += scratch[i], wide[0] += sums[i & 3];
    for (int64_t i = 0; i < n; ++i) out[i] = scratch[i] - sums[i & 3] + float(wide[0]);
    free(scratch);
    free(sums);
    free(wide);
}
