void k(const float* x, float* out, int64_t n) {
    float signal = 0, weak = 1, section = 2, alias = 0;
    for (int64_t i = 0; i < n; ++i) { signal += x[i]; weak *= 0.5f; alias = signal * weak; out[i] = alias + section; }
}
