// refused: symbols
static float plain(float x) { return x * 2; }
extern "C" void* choose() { return reinterpret_cast<void*>(&plain); }
extern "C" float chosen(float) __attribute__((ifunc("choose")));
void k(const float* x, float* out, int64_t n) { out[0] = chosen(x[0]) + n; }
