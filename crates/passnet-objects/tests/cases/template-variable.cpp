// refused: sections
template <class T> T last = 0;
void k(const float* x, float* out, int64_t n) { out[0] = last<float>; last<float> = x[0] + n; }
