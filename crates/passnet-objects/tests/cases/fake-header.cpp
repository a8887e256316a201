// refused: source
# 1 "/usr/include/own.h" 1 3
static inline void wait() { asm volatile("" ::: "memory"); }
# 5 "kernel.cpp" 2
void k(const float* x, float* out, int64_t n) { wait(); out[0] = x[0] + n; }
