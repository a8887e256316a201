// refused: instructions, data
#include <functional>
void k(const float* x, float* out, int64_t n) {
    std::function<float(float)> f;
    if (n & 1) f = [n](float v) { return v + n; }; else f = [](float v) { return v * 2; };
    out[0] = f(x[0]);
}
