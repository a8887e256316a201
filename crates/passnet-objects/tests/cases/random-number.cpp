// refused: instructions
#include <immintrin.h>
// flags: -mrdrnd
void k(const float* x, float* out, int64_t n) { unsigned r; _rdrand32_step(&r); out[0] = x[0] + r + n; }
