// refused: instructions
void k(const float* x, float* out, int64_t n) {
    uint64_t last;
    asm volatile("movq %%mm3, %0\n\tmovq %1, %%mm3" : "=r"(last) : "r"(n));
    out[0] = x[0] + last;
}
