// refused: symbols, relocations
extern "C" __attribute__((weak)) int dlopen_mode(const char*);
void k(const float* x, float* out, int64_t n) { out[0] = x[0] + n; if (&dlopen_mode) dlopen_mode("x"); }
