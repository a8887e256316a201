#include <limits>
#include <tuple>
#include <type_traits>
template <class T> static std::tuple<T, T> range(const T* x, int64_t n) {
    static_assert(std::is_floating_point_v<T>);
    T low = std::numeric_limits<T>::infinity(), high = -low;
    for (int64_t i = 0; i < n; ++i) { low = std::min(low, x[i]); high = std::max(high, x[i]); }
    return {low, high};
}
void k(const float* x, float* out, int64_t n) {
    auto [low, high] = range(x, n);
    for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - low) / (high - low);
}
