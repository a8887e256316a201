// refused: sections
struct Memo { mutable float last[1024]; };
constexpr Memo memo{};
void k(const float* x, float* out, int64_t n) {
    for (int64_t i = 0; i < n && i < 1024; ++i) { out[i] = memo.last[i]; memo.last[i] = x[i]; }
}
