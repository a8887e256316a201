// refused: symbols
extern "C" void* __cxa_begin_catch(void*);
void k(const float* x, float* out, int64_t n) { __cxa_begin_catch(nullptr); out[0] = x[0] + n; }
