// refused: instructions
void k(const float* x, float* out, int64_t n) {
    unsigned low, high;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    out[0] = x[0] + low + n;
}
