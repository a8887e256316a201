void k(const float* x, float* out, int64_t n) {
    std::copy(x, x + n, out);
    std::sort(out, out + n, [](float a, float b) { return a > b; });
    out[0] = float(std::lower_bound(out, out + n, 0.5f, [](float a, float b) { return a > b; }) - out);
    std::nth_element(out, out + n / 2, out + n);
}
