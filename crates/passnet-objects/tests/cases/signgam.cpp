// refused: symbols
void k(const float* x, float* out, int64_t n) { out[0] = float(signgam) + n; signgam = int(x[0]); }
