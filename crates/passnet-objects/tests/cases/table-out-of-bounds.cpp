// refused: data, instructions
static const float table[4] = {1, 2, 3, 4};
void k(const float* x, float* out, int64_t n) {
    const volatile float* t = table;
    out[0] = t[100000] * x[0] + n;
}
