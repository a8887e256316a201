// flags: -ffast-math
void k(const float* x, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = std::exp(x[i]) + std::sin(x[i]) + std::log(x[i]); }
