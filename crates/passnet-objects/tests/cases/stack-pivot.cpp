// refused: stack
void k(const float* x, float* out, int64_t n) {
    asm volatile("mov %%rsp, %%rax\n\tmov %%rax, %%rsp" : : : "rax");
    out[0] = x[0] + n;
}
