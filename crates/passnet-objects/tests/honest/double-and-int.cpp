// signature: void k(const double* x, const uint8_t* mask, double* out, int32_t rows, bool negate, float by)
void k(const double* x, const uint8_t* mask, double* out, int32_t rows, bool negate, float by) {
    for (int32_t i = 0; i < rows; ++i) out[i] = mask[i] ? (negate ? -x[i] : x[i]) * by : 0.0;
}
