// refused: instructions, data
__attribute__((noinline)) static float twice(float x) { return x * 2; }
__attribute__((noinline)) static float half(float x) { return x / 2; }
void k(const float* x, float* out, int64_t n) {
    float (*volatile function)(float) = n & 1 ? twice : half;
    out[0] = function(x[0]);
}
