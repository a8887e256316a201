// refused: relocations, data
void k(const float* x, float* out, int64_t n) {
    auto bytes = reinterpret_cast<const unsigned char*>(&expf);
    out[0] = x[0] + bytes[n & 15];
}
