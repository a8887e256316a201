// refused: sections
char text[] = "state";
void k(const float* x, float* out, int64_t n) { out[0] = text[n]++; out[1] = x[0]; }
