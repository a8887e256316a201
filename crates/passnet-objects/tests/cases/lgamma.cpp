// refused: symbols
void k(const float* x, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = std::lgamma(x[i]); }
