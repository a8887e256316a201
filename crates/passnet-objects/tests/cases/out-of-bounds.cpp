// accepted: an object does not show where computed addresses point
void k(const float* x, float* out, int64_t n) { out[0] = x[-1] + n; out[n] = x[n]; }
