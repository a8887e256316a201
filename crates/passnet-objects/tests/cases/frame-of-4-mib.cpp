// refused: stack
void k(const float* x, float* out, int64_t n) {
    volatile float large[1 << 20];
    for (int64_t i = 0; i < n; ++i) large[i] = x[i];
    for (int64_t i = 0; i < n; ++i) out[i] = large[n - 1 - i];
}
