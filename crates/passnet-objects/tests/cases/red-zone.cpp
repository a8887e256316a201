// refused: source
void k(const float* x, float* out, int64_t n) {
    uint64_t word;
    asm volatile("mov -64(%%rsp), %0" : "=r"(word));
    out[0] = x[0] + word + n;
}
