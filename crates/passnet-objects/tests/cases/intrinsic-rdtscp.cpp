// refused: instructions
#include <x86intrin.h>
void k(const float* x, float* out, int64_t n) { unsigned core; out[0] = x[0] + __rdtscp(&core) + n; }
