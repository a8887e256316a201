// refused: source
void k(const float* x, float* out, int64_t n) {
    volatile float* above = static_cast<float*>(__builtin_frame_address(0));
    out[0] = above[8] + x[0] + n;
}
