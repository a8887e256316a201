// refused: data
void k(const float* x, float* out, int64_t n) {
    out[0] = x[0] + n + *reinterpret_cast<volatile float*>(0x7fff0000);
}
