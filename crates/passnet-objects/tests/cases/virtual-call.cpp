// refused: sections, instructions
struct Base { virtual float apply(float x) const = 0; };
struct Double : Base { float apply(float x) const override; };
struct Half : Base { float apply(float x) const override; };
__attribute__((noinline)) float Double::apply(float x) const { return x * 2; }
__attribute__((noinline)) float Half::apply(float x) const { return x / 2; }
__attribute__((noinline)) static float run(const Base& base, float x) { return base.apply(x); }
void k(const float* x, float* out, int64_t n) { Double d; Half h; out[0] = run(n & 1 ? static_cast<Base&>(d) : h, x[0]); }
