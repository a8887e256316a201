// refused: source
__attribute__((optimize("no-tree-vectorize"))) void k(const float* x, float* out, int64_t n) { out[0] = x[0] + n; }
