#include <numeric>
#include <array>
void k(const float* x, float* out, int64_t n) {
    std::array<float, 16> parts{};
    for (int64_t i = 0; i < n; ++i) parts[i & 15] += x[i];
    float sum = std::accumulate(parts.begin(), parts.end(), 0.0f);
    std::transform(x, x + n, out, [sum](float v) { return v / sum; });
    std::reverse(out, out + n);
    std::partial_sum(out, out + n, out);
    out[0] = *std::min_element(x, x + n);
    std::fill_n(out + 1, std::min<int64_t>(n - 1, 3), 0.5f);
}
