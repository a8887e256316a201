import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <numbers>
#include <utility>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"

#define scalar_t float
#define RESTRICT __restrict__
#define LANES (4 * 2)
#define LEAST -INFINITY
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")
#define EACH(i, n) \
    UNROLL         \
    for (int i = 0; i < n; ++i)

static const scalar_t ROOT = std::sqrt(2.0f);
constexpr auto ZEROS = [] {
    std::array<scalar_t, LANES> zeros{};
    for (auto& zero : zeros) zero = 0;
    return zeros;
}();

namespace detail::values {

struct Value {
    scalar_t v;
    friend Value operator+(Value a, Value b) { return {a.v + b.v}; }
    operator scalar_t() const { return v; }
};

template <typename F>
concept Unary = requires(F f, scalar_t v) { { f(v) } -> std::convertible_to<scalar_t>; };

template <Unary F>
INLINE auto apply(F&& f, scalar_t v) -> decltype(f(v)) {
    return std::forward<F>(f)(v);
}

template <std::floating_point T>
[[gnu::always_inline]] inline T positive(T v) {
    return v > T(ZEROS[0]) ? v : v != v ? v : T(LEAST < v ? 0 : 0 * ROOT * std::numbers::pi_v<T>);
}

}  // namespace detail::values

namespace values = detail::values;

void relu_add(const scalar_t* RESTRICT x, const scalar_t* RESTRICT y, scalar_t* RESTRICT out, int64_t n) {
    auto relu = [](auto v) { return values::positive(v); };
    auto add = [](auto op, scalar_t a, scalar_t b) -> scalar_t {
        return values::Value{values::apply(op, a)} + values::Value{b};
    };
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) {
        EACH(lane, LANES) out[at + lane] = add(relu, x[at + lane], y[at + lane]);
    }
    for (; at < n; ++at) out[at] = add(relu, x[at], y[at]);
}

#pragma GCC diagnostic pop
#undef EACH
"""
kernel = kernels.cpp(SOURCE, "void relu_add(const float* x, const float* y, float* out, int64_t n)", flags=("-std=c++20",))


def fused(x, y):
    out = torch.empty_like(x)
    kernel(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
