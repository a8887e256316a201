// refused: sections
static float value;
__attribute__((constructor)) static void begin() { value = 2; }
void k(const float* x, float* out, int64_t n) { out[0] = x[0] * value + n; }
