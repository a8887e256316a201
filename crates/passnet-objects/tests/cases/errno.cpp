// refused: symbols
#include <cerrno>
void k(const float* x, float* out, int64_t n) { out[0] = errno; errno = int(x[0]) + n; }
