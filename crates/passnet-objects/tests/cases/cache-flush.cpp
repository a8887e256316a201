// refused: instructions
#include <immintrin.h>
void k(const float* x, float* out, int64_t n) { _mm_clflush(x); out[0] = x[0] + n; }
