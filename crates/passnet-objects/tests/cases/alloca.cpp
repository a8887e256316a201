// refused: source
void k(const float* x, float* out, int64_t n) {
    volatile float* buffer = static_cast<float*>(__builtin_alloca(4 * n));
    for (int64_t i = 0; i < n; ++i) out[i] = buffer[i];
    buffer[0] = x[0];
}
