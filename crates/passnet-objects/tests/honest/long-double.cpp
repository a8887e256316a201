// signature: void k(const double* x, double* out, int64_t n)
void k(const double* x, double* out, int64_t n) {
    long double sum = 0, low = 0;
    for (int64_t i = 0; i < n; ++i) { long double t = sum + x[i]; low += (sum - t) + x[i]; sum = t; }
    for (int64_t i = 0; i < n; ++i) out[i] = double(x[i] / (sum + low));
}
