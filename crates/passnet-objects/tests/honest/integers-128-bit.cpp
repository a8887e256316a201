// signature: void k(const int64_t* x, int64_t* out, int64_t n, double scale)
void k(const int64_t* x, int64_t* out, int64_t n, double scale) {
    for (int64_t i = 0; i < n; ++i) {
        unsigned __int128 wide = static_cast<unsigned __int128>(x[i]) * 1000003u;
        out[i] = int64_t(wide / 7) + int64_t(float(wide) * scale) + __builtin_popcountll(x[i]) + __builtin_ctzll(x[i] | 1);
    }
}
