// refused: instructions
void k(const float* x, float* out, int64_t n) {
    uint32_t limit;
    asm volatile("lsl %1, %0" : "=r"(limit) : "r"(0x7b));
    out[0] = x[0] + (limit >> 12) + n;
}
