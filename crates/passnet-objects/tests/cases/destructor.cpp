// refused: sections, symbols
struct End { ~End(); int open; };
End end;
static volatile int closed;
End::~End() { closed = open; }
void k(const float* x, float* out, int64_t n) { out[0] = x[0] + closed + n; }
