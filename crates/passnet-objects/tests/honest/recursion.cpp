static float tree_sum(const float* x, int64_t n) {
    if (n <= 8) { float sum = 0; for (int64_t i = 0; i < n; ++i) sum += x[i]; return sum; }
    return tree_sum(x, n / 2) + tree_sum(x + n / 2, n - n / 2);
}
void k(const float* x, float* out, int64_t n) { out[0] = tree_sum(x, n); }
