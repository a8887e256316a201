// refused: sections
float value = std::cos(std::strlen("abc") * 0.5f);
static volatile float seed = 1; static float second = std::exp(seed);
void k(const float* x, float* out, int64_t n) { out[0] = x[0] * second * value + n; }
