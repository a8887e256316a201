// refused: symbols
#include <chrono>
void k(const float* x, float* out, int64_t n) { out[0] = x[0] + n + std::chrono::steady_clock::now().time_since_epoch().count(); }
