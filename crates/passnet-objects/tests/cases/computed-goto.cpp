// refused: instructions, sections, relocations
void k(const float* x, float* out, int64_t n) {
    static const void* const places[] = {&&one, &&two, &&three};
    goto *places[n % 3];
one: out[0] = x[0]; return;
two: out[0] = x[1] * 2; return;
three: out[0] = std::exp(x[2]);
}
