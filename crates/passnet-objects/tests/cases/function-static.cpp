// refused: sections
void k(const float* x, float* out, int64_t n) { static float last; out[0] = last; last = x[0] + n; }
