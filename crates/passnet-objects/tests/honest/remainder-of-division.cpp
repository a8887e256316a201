// flags: -ffinite-math-only
// GCC computes the remainder with the floating-point unit and reads its status (from GCC 13 on, without the flag as well).
#include <cmath>
void k(const float* x, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = std::fmod(x[i], 0.75f) + std::remainder(x[i], 1.5f);
}
