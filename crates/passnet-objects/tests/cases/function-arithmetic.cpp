// refused: relocations, data, instructions
typedef int (*Function)(const char*);
void k(const float* x, float* out, int64_t n) {
    auto walked = reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(&memmove) + 64 * n);
    out[0] = x[0] + walked("true");
}
