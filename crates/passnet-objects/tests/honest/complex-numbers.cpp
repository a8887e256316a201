// Products and quotients of complex numbers call functions of the compiler's library.
#include <complex>
void k(const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i + 1 < n; i += 2) {
        const std::complex<float> value(x[i], x[i + 1]);
        const std::complex<double> wide(value);
        const std::complex<float> turned = value * value / std::complex<float>(1.0f, x[i]);
        const std::complex<double> back = wide * wide / std::complex<double>(x[i + 1], 2.0);
        y[i] = turned.real() + static_cast<float>(back.real());
        y[i + 1] = turned.imag() + static_cast<float>(back.imag());
    }
}
