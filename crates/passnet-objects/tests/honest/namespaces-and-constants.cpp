namespace gelu { constexpr float kBeta = 0.7978845608f, kKappa = 0.044715f;
static inline float forward(float v) { return 0.5f * v * (1.0f + std::tanh(kBeta * (v + kKappa * v * v * v))); } }
using Row = const float*;
void k(Row x, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = gelu::forward(x[i]); }
