// refused: instructions, data
void k(const float* x, float* out, int64_t n) { std::vector<float> empty; out[0] = x[0] + n + empty[0]; }
