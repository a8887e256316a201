// refused: sections
void k(const float* x, float* out, int64_t n) { static float first = x[0] + n; out[0] = first; }
