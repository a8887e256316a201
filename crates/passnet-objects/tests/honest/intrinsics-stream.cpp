#include <immintrin.h>
void k(const float* x, float* out, int64_t n) {
    int64_t i = 0;
    while (i < n && (reinterpret_cast<uintptr_t>(out + i) & 15)) { out[i] = x[i]; ++i; }
    for (; i + 4 <= n; i += 4) _mm_stream_ps(out + i, _mm_loadu_ps(x + i));
    for (; i < n; ++i) out[i] = x[i];
    _mm_sfence();
}
