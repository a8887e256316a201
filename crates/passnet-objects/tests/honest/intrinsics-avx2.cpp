// flags: -mavx2 -mfma
#include <immintrin.h>
void k(const float* x, float* out, int64_t n) {
    const __m256 half = _mm256_set1_ps(0.5f);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        __m256 mask = _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_GT_OQ);
        _mm256_storeu_ps(out + i, _mm256_blendv_ps(half, _mm256_fmadd_ps(v, half, half), mask));
    }
    for (; i < n; ++i) out[i] = x[i] > 0 ? x[i] * 0.5f + 0.5f : 0.5f;
    _mm_prefetch(reinterpret_cast<const char*>(x), _MM_HINT_T0);
}
