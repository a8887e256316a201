#include <immintrin.h>
__attribute__((target("avx2,fma"), hot)) static void wide(const float* x, float* out, int64_t n) {
    for (int64_t i = 0; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, _mm256_max_ps(_mm256_setzero_ps(), _mm256_loadu_ps(x + i)));
}
void k(const float* x, float* out, int64_t n) { wide(x, out, n); }
