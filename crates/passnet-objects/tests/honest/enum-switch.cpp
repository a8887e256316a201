enum class Kind { Relu, Tanh, Square, Exp, Sigmoid, Identity, Sine, Log };
static float apply(Kind kind, float v) {
    switch (kind) {
        case Kind::Relu: return v > 0 ? v : 0;
        case Kind::Tanh: return std::tanh(v);
        case Kind::Square: return v * v;
        case Kind::Exp: return std::exp(v);
        case Kind::Sigmoid: return 1 / (1 + std::exp(-v));
        case Kind::Identity: return v;
        case Kind::Sine: return std::sin(v);
        case Kind::Log: return std::log(v);
    }
    return 0;
}
void k(const float* x, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = apply(Kind(i & 7), x[i]); }
