// refused: instructions
#include <immintrin.h>
void k(const float* x, float* out, int64_t n) { out[0] = x[0] + n + _mm_getcsr(); _mm_setcsr(_mm_getcsr() | 0x8040); }
