#include <cstdint>
#if defined(__GNUC__) /* or clang */
#define RESTRICT __restrict__
#elif defined(_MSC_VER)
#define RESTRICT __restrict
#endif
#define NAMED(name, type) name##_##type
template <typename T> struct Op;
template <> struct Op<float> { static float apply(float v) { return v > 0 ? v : 0; } };
template <typename T> T twice(T v);
template <> inline float twice<float>(float v) { return 2 * v; }
template <typename T> struct Holder { T v; T get() const { return v; } };
template <typename T> Holder(T) -> Holder<T>;
static float NAMED(add, float)(float a, float b) { return a + b; }
struct Base { virtual float apply(float v) const = 0; };
struct Half final : Base { float apply(float v) const override { return v / 2; } };
void k(const float* RESTRICT x, float* RESTRICT out, int64_t n) {
    auto body = [=](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
            out[i] = add_float(twice(Op<float>::apply(x[i])), Half{}.apply(Holder{x[i]}.get()));
        }
    };
    auto run = body;
#ifdef NEVER
    for (int64_t i = 0; i < 1; ++i) {
#else
    {
#endif
        run(0, n);
    }
}
