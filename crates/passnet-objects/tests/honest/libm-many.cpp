void k(const float* x, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        float v = x[i];
        out[i] = std::sin(v) + std::cos(v) + std::tan(v) + std::exp(v) + std::log(std::fabs(v) + 1) + std::pow(std::fabs(v), 1.5f)
            + std::atan2(v, 2.0f) + std::erf(v) + std::tgamma(v + 2) + std::cbrt(v) + std::log1p(std::fabs(v)) + std::expm1(v)
            + std::fmod(v, 0.7f) + std::hypot(v, 1.0f) + std::floor(v) + std::round(v) + std::nearbyint(v) + std::sinh(v);
    }
}
