// refused: symbols
extern "C" int usleep(unsigned);
void k(const float* x, float* out, int64_t n) { usleep(1); out[0] = x[0] + n; }
