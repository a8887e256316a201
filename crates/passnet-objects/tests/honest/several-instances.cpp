template <int WIDTH> static void block(const float* x, float* out, int64_t n) {
    float lanes[WIDTH] = {};
    for (int64_t i = 0; i + WIDTH <= n; i += WIDTH) for (int l = 0; l < WIDTH; ++l) lanes[l] += x[i + l];
    for (int l = 0; l < WIDTH; ++l) out[l] = lanes[l];
}
template <int... WIDTHS> static void all(const float* x, float* out, int64_t n) { (block<WIDTHS>(x, out, n), ...); }
void k(const float* x, float* out, int64_t n) { if (n >= 64) all<1, 2, 4, 8, 16, 32, 64>(x, out, n); }
