static float square(float v);
void k(const float* x, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = square(x[i]); }
static float square(float v) { return v * v; }
