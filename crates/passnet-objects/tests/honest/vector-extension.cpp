typedef float floats __attribute__((vector_size(32), aligned(4)));
void k(const float* x, float* out, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) *reinterpret_cast<floats*>(out + i) = *reinterpret_cast<const floats*>(x + i) * 2 + 1;
    for (; i < n; ++i) out[i] = x[i] * 2 + 1;
}
