// refused: instructions, relocations, source
#pragma GCC optimize("jump-tables")
void k(const float* x, float* out, int64_t n) {
    switch (n) {
        case 0: out[0] = std::exp(x[0]); break;
        case 1: out[0] = std::sin(x[0]); break;
        case 2: out[1] = std::log(x[0]); break;
        case 3: out[2] = std::cos(x[0]); break;
        case 4: out[3] = std::erf(x[0]); break;
        case 5: out[4] = std::tan(x[0]); break;
        case 6: out[5] = std::tanh(x[0]); break;
    }
}
