// refused: instructions
void k(const float* x, float* out, int64_t n) { out[0] = x[0] + __builtin_ia32_rdtsc() + n; }
