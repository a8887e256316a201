// accepted: start-up code comes from linkers, and nothing is linked
// flags: -ffast-math
void k(const float* x, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = x[i] / 3; }
