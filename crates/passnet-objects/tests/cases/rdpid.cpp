// refused: instructions
void k(const float* x, float* out, int64_t n) {
    uint64_t core;
    asm volatile("rdpid %0" : "=r"(core));
    out[0] = x[0] + core + n;
}
