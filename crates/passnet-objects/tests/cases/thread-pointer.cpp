// refused: instructions
void k(const float* x, float* out, int64_t n) { out[0] = x[0] + n + static_cast<float*>(__builtin_thread_pointer())[0]; }
