// refused: source
void k(const float* x, float* out, int64_t n) {
    __attribute__((uninitialized)) float buffer[64];
    volatile float* hidden = buffer;
    for (int64_t i = 0; i < n && i < 64; ++i) out[i] = hidden[i];
    hidden[0] = x[0];
}
