static const float table[2] = {0.5f, 2.0f};
constexpr double polynomial[] = {1.0, 0.5, 1.0 / 6, 1.0 / 24};
const int64_t BLOCK = 64;
void k(const float* x, float* out, int64_t n) {
    static constexpr int order[4] = {2, 0, 3, 1};
    for (int64_t i = 0; i < n; i += BLOCK)
        for (int64_t j = i; j < std::min(n, i + BLOCK); ++j) out[j] = float(x[j] * table[j & 1] + polynomial[order[j & 3]]);
}
