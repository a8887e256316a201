// refused: symbols
extern "C" float first(float x) { return x * 2; }
extern "C" float second(float x) __attribute__((alias("first")));
void k(const float* x, float* out, int64_t n) { out[0] = first(x[0]) + second(x[1]) + n; }
