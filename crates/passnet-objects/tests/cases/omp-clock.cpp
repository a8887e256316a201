// refused: symbols
// flags: -fopenmp
#include <omp.h>
void k(const float* x, float* out, int64_t n) { out[0] = x[0] + n + omp_get_wtime(); }
