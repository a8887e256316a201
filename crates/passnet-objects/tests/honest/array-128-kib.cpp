void k(const float* x, float* out, int64_t n) {
    alignas(64) float tile[256][128];
    for (int i = 0; i < 256; ++i) for (int j = 0; j < 128; ++j) tile[i][j] = x[(i * 128 + j) % n];
    for (int64_t i = 0; i < n; ++i) out[i] = tile[i & 255][i & 127];
}
