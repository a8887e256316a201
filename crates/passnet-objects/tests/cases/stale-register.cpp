// refused: source
void k(const float* x, float* out, int64_t n) {
    float stale;
    asm volatile("" : "=x"(stale));
    out[0] = stale + x[0] + n;
}
