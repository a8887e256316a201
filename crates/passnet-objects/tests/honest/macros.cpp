#define UNROLL 4
#define APPLY(name, expression) static inline float name(float v) { return expression; }
APPLY(gelu, 0.5f * v * (1 + std::erf(v * 0.70710678f)))
APPLY(silu, v / (1 + std::exp(-v)))
void k(const float* x, float* out, int64_t n) {
    for (int64_t i = 0; i + UNROLL <= n; i += UNROLL)
        for (int u = 0; u < UNROLL; ++u) out[i + u] = gelu(x[i + u]) + silu(x[i + u]);
}
