// refused: sections
inline float last = 0;
void k(const float* x, float* out, int64_t n) { out[0] = last; last = x[0] + n; }
