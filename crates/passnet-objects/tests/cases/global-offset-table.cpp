// refused: symbols, relocations, data
extern "C" uintptr_t _GLOBAL_OFFSET_TABLE_[];
void k(const float* x, float* out, int64_t n) { out[0] = x[0] + float(_GLOBAL_OFFSET_TABLE_[n]); }
