// Vectors of float for kernels of `passnet.kernels.cpp`: loads and stores of all float types, elementary functions, and sums and
// maxima in the order of PyTorch. Include it with `#include <passnet/vectors.hpp>`.
#pragma once

namespace passnet {

// A vector has as many values as a register of the CPU, because compilers keep wider vectors in memory. Most functions below exist for
// `float` and for `vec`, so that the same code computes one element or a vector.
#ifdef __F16C__
typedef halves signed_halves;
#endif
typedef float vec __attribute__((vector_size(4 * lanes)));
typedef int32_t mask __attribute__((vector_size(4 * lanes)));
typedef uint32_t words __attribute__((vector_size(4 * lanes)));
typedef uint16_t halves __attribute__((vector_size(2 * lanes)));
typedef uint8_t bytes __attribute__((vector_size(lanes)));

template <typename To, typename From> static inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "both types have the same size");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

static inline vec splat(float x) { return x - vec{}; }
static inline mask splat(bool x) { return mask{} - int32_t(x); }
static inline float choose(bool c, float a, float b) { return c ? a : b; }
static inline vec choose(mask c, vec a, vec b) { return c ? a : b; }
static inline mask choose(mask c, mask a, mask b) { return (c & a) | (~c & b); }

// a * b + c, rounded once if the CPU has such an instruction. Compilers fuse a product with a sum only if they can fuse all uses of the
// product, which have to follow it closely. `kept` hides one factor, so that this product has no other use.
static inline vec multiply_add(vec a, vec b, vec c) { return kept(a) * b + c; }

// Returns a sum with one more term. GCC 11 and 12 vectorise a loop that adds several elements to one sum. If these are not in the order of
// memory, as in `sum += x[2 * i + 1]; sum += x[2 * i];`, their code adds wrong elements. `kept` hides the sum, so that the loop stays as it
// is. GCC 14 is right; GCC 13 was not tried.
template <class T> static inline T added(T sum, T term) {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 14
    return kept(sum + term);
#else
    return sum + term;
#endif
}

// Combines the lanes of a register pairwise: first its two halves, then the two quarters of the result, and so on. Combining one pair
// of lanes at a time would take several instructions for each pair.
template <int64_t width, std::size_t... lane> static inline vec lowered(vec x, std::index_sequence<lane...>) {
    // Moves lane `i + width` to lane `i`.
#ifdef __clang__
    return __builtin_shufflevector(x, x, static_cast<int>((lane + width) % lanes)...);
#else
    return __builtin_shuffle(x, mask{static_cast<int32_t>((lane + width) % lanes)...});
#endif
}
template <int64_t width = lanes / 2, typename F> static inline float pairwise(vec x, F combine) {
    if constexpr (width == 0) {
        return x[0];
    } else {
        return pairwise<width / 2>(combine(x, lowered<width>(x, std::make_index_sequence<lanes>())), combine);
    }
}
static inline float add_lanes(vec x) { return pairwise(x, [](vec a, vec b) { return a + b; }); }
// Sum of a short row: one register, whose lanes are added pairwise.
static inline float total(vec sum, float rest) { return rest + add_lanes(sum); }

// Sums of longer rows add in the order of PyTorch's `sum` over contiguous rows, so that they round equally: into four accumulators of
// eight lanes, in turns. PyTorch has no wider accumulators; on CPUs with AVX-512, it also uses its code for AVX2. The order does not
// depend on `lanes`: the 32 partial sums are distributed over as many registers as they need.
constexpr int64_t sum_lanes = 8, sum_step = 4 * sum_lanes, sum_parts = sum_step / lanes;
typedef float sum_vec __attribute__((vector_size(4 * sum_lanes)));

struct turns {
    vec part[sum_parts] = {};
};
// Partial sums of long rows: after 16 steps they are added to the next level, after 16 such additions that level to the next, and so on.
struct cascade : turns {
    vec whole[3][sum_parts] = {};
    int64_t steps = 0;
};
static inline void carry(cascade& sum) {
    ++sum.steps;
    for (int64_t level = 0; level < 3 && sum.steps % (int64_t(16) << 4 * level) == 0; ++level)
        for (int64_t i = 0; i < sum_parts; ++i) {
            vec& from = level == 0 ? sum.part[i] : sum.whole[level - 1][i];
            sum.whole[level][i] += from;
            from = vec{};
        }
}
static inline void join(cascade& sum) {
    for (int64_t level = 0; level < 3; ++level)
        for (int64_t i = 0; i < sum_parts; ++i) {
            sum.part[i] += sum.whole[level][i];
            sum.whole[level][i] = vec{};
        }
}
// Adds the elements of a row of `width` elements that follow the last whole step. PyTorch adds each whole group of eight to its first
// accumulator, and the elements after those one by one, here to `rest`. `k` is the position of `x` in the row.
static inline void add_left(turns& sum, float& rest, float x, int64_t k, int64_t width) {
    if constexpr (lanes > sum_lanes)
        if (k < width - width % sum_lanes) {
            sum.part[0][k % sum_lanes] += x;
            return;
        }
    rest += x;
}
static inline void add_left(turns& sum, float& rest, vec x, int64_t k, int64_t width) {
    if constexpr (lanes == sum_lanes) {
        sum.part[0] += x;
    } else if constexpr (lanes > sum_lanes) {
        struct pair { sum_vec first, second; };
        const pair both = bits_as<pair>(x);
        pair part = bits_as<pair>(sum.part[0]);
        part.first = part.first + both.first + both.second;
        sum.part[0] = bits_as<vec>(part);
    } else if (k < width - width % sum_lanes) {
        sum.part[k % sum_lanes / lanes] += x;
    } else {
        for (int64_t i = 0; i < lanes; ++i) rest += x[i];
    }
}
// Sum of the whole row. `rest` is the sum of the elements after the last whole group of eight.
static inline float total(turns& sum, float rest) {
    sum_vec part[4];
    static_assert(sizeof part == sizeof sum.part, "both hold all partial sums");
    std::memcpy(part, sum.part, sizeof part);
    const sum_vec all = part[0] + part[1] + part[2] + part[3];
    for (int64_t i = 0; i < sum_lanes; ++i) rest += all[i];
    return rest;
}
static inline float total(cascade& sum, float rest) {
    join(sum);
    return total(static_cast<turns&>(sum), rest);
}

// Sums of the columns of a block, in the order of PyTorch's `sum` over a dimension that is not the last. Rows are added one by one to
// the first level. After `2^power` rows, the first level is added to the second one and cleared, and so on for the next levels.
constexpr int64_t columns = 256;
struct column_sums {
    float level[4][columns] = {};
    int64_t rows = 0, power = 4;
    // `all` is the number of rows.
    explicit column_sums(int64_t all) {
        int64_t bits = 1;
        while ((int64_t(1) << bits) < all) ++bits;
        power = std::max<int64_t>(4, bits / 4);
    }
};
static inline void add_row(column_sums& sum, int64_t k, float x) { sum.level[0][k] += x; }
static inline void add_row(column_sums& sum, int64_t k, vec x) {
    vec all;
    std::memcpy(&all, sum.level[0] + k, sizeof all);
    all += x;
    std::memcpy(sum.level[0] + k, &all, sizeof all);
}
static inline void next_row(column_sums& sum, int64_t width) {
    ++sum.rows;
    const int64_t step = int64_t(1) << sum.power;
    if (sum.rows % step != 0) return;
    for (int64_t at = 1; at < 4; ++at) {
        for (int64_t k = 0; k < width; ++k) sum.level[at][k] += sum.level[at - 1][k], sum.level[at - 1][k] = 0;
        if ((sum.rows & (step - 1) << at * sum.power) != 0) break;
    }
}
// Adds all levels to the first one.
static inline void finish(column_sums& sum, int64_t width) {
    for (int64_t at = 1; at < 4; ++at)
        for (int64_t k = 0; k < width; ++k) sum.level[0][k] += sum.level[at][k];
}

// Maximum and minimum of PyTorch: the result is NaN if an operand is. Each line has one choice, which compilers translate without a
// branch.
template <typename T> static inline T maximum(T a, T b) { T larger = a > b ? a : b; return a != a ? a : larger; }
template <typename T> static inline T minimum(T a, T b) { T smaller = a < b ? a : b; return a != a ? a : smaller; }
#if defined(__AVX512F__) && PASSNET_VECTOR_LANES == 16
// The form below takes GCC 12 two selections and three comparisons. The instructions for the maximum return `b` if an operand is NaN.
static inline vec unless_nan(vec a, vec number) {
    return __builtin_ia32_blendmps_512_mask(number, a, __builtin_ia32_cmpps512_mask(a, a, 3, -1, 4));
}
static inline vec maximum(vec a, vec b) { return unless_nan(a, __builtin_ia32_maxps512_mask(a, b, b, -1, 4)); }
static inline vec minimum(vec a, vec b) { return unless_nan(a, __builtin_ia32_minps512_mask(a, b, b, -1, 4)); }
#else
static inline vec maximum(vec a, vec b) { return (a > b) | (a != a) ? a : b; }
static inline vec minimum(vec a, vec b) { return (a < b) | (a != a) ? a : b; }
#endif
// Lower and upper limits that are not NaN; the result is NaN where `x` is. Each is one instruction; for AVX-512, GCC 12 would translate
// the choice to two.
template <typename V> static inline V at_least(V bound, V x) {
#ifdef __AVX512F__
    if constexpr (sizeof(V) == 64) return __builtin_ia32_maxps512_mask(bound, x, x, -1, 4);
    else
#endif
        return bound > x ? bound : x;
}
template <typename V> static inline V at_most(V bound, V x) {
#ifdef __AVX512F__
    if constexpr (sizeof(V) == 64) return __builtin_ia32_minps512_mask(bound, x, x, -1, 4);
    else
#endif
        return bound < x ? bound : x;
}
static inline float max_lanes(vec x) { return pairwise(x, [](vec a, vec b) { return maximum(a, b); }); }
static inline float min_lanes(vec x) { return pairwise(x, [](vec a, vec b) { return minimum(a, b); }); }
// Maxima or minima of long rows, in several registers in turns, because a new comparison can start before the last one has finished.
constexpr int64_t extreme_parts = std::max<int64_t>(4, sum_parts), extreme_step = extreme_parts * lanes;
struct extremes {
    vec part[extreme_parts];
    explicit extremes(float start) { for (vec& one : part) one = splat(start); }
};
static inline float max_lanes(const extremes& x) {
    vec all = x.part[0];
    for (const vec& one : x.part) all = maximum(one, all);
    return max_lanes(all);
}
static inline float min_lanes(const extremes& x) {
    vec all = x.part[0];
    for (const vec& one : x.part) all = minimum(one, all);
    return min_lanes(all);
}

// Conversion of elements in memory to float and back. Ties round to even.
static inline float get(float x) { return x; }
static inline float get(bfloat16 x) { return bf16_to_float(x.bits); }
static inline void put(float* to, float x) { *to = x; }
static inline void put(bfloat16* to, float x) { to->bits = float_to_bf16(x); }
// Stores a value that bfloat16 represents exactly.
static inline void put_exact(bfloat16* to, float x) { to->bits = static_cast<uint16_t>(bits_of(x) >> 16); }
static inline float round_bfloat16(float x) { return bf16_to_float(float_to_bf16(x)); }
#ifdef __F16C__
static inline float get(float16 x) { return widen8(halves8{static_cast<short>(x.bits)})[0]; }
static inline void put(float16* to, float x) { to->bits = static_cast<uint16_t>(narrow8(floats8{x})[0]); }
static inline float round_float16(float x) { return widen8(narrow8(floats8{x}))[0]; }
#else
static inline float get(float16 x) { return half_to_float(x.bits); }
static inline void put(float16* to, float x) { to->bits = float_to_half(x); }
static inline float round_float16(float x) { return half_to_float(float_to_half(x)); }
#endif

static inline words bfloat16_bits(vec x) {
    words b = bits_as<words>(x), rounded = (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
    return x != x ? b >> 16 | 0x40u : rounded;  // NaN stays NaN
}
static inline vec round_bfloat16(vec x) { return bits_as<vec>(bfloat16_bits(x) << 16); }
#ifdef __F16C__
static inline vec from_half(halves x) { return bits_as<vec>(widen(bits_as<signed_halves>(x))); }
static inline halves to_half(vec x) { return bits_as<halves>(narrow(bits_as<floats>(x))); }
#else
static inline vec from_half(halves x) {
    vec y;
    for (int64_t i = 0; i < lanes; ++i) y[i] = get(bits_as<float16>(uint16_t(x[i])));
    return y;
}
static inline halves to_half(vec x) {
    halves y;
    for (int64_t i = 0; i < lanes; ++i) { float16 one; put(&one, x[i]); y[i] = one.bits; }
    return y;
}
#endif
static inline vec round_float16(vec x) { return from_half(to_half(x)); }

template <typename V, typename T> static inline V load_as(const T* from) { V x; std::memcpy(&x, from, sizeof x); return x; }
template <typename V, typename T> static inline void store_as(T* to, V x) { std::memcpy(to, &x, sizeof x); }
static inline vec get_row(const float* from) { return load_as<vec>(from); }
static inline vec get_row(const bfloat16* from) { return bits_as<vec>(__builtin_convertvector(load_as<halves>(from), words) << 16); }
static inline vec get_row(const float16* from) { return from_half(load_as<halves>(from)); }
static inline mask get_row(const uint8_t* from) { return __builtin_convertvector(load_as<bytes>(from), mask) != 0; }
// Loads integers as float.
template <typename T> static inline vec get_whole(const T* from) {
    typedef T whole_row __attribute__((vector_size(lanes * sizeof(T))));
    return __builtin_convertvector(load_as<whole_row>(from), vec);
}
static inline void put_row(float* to, vec x) { store_as(to, x); }
static inline void put_row(bfloat16* to, vec x) { store_as(to, __builtin_convertvector(bfloat16_bits(x), halves)); }
static inline void put_row_exact(bfloat16* to, vec x) { store_as(to, __builtin_convertvector(bits_as<words>(x) >> 16, halves)); }
static inline void put_row(float16* to, vec x) { store_as(to, to_half(x)); }
static inline void put_row(uint8_t* to, mask x) { store_as(to, __builtin_convertvector(x & 1, bytes)); }
// Loads every other element, from two registers whose first and last elements are needed.
template <typename T> static inline vec get_every_other(const T* from) {
    const vec first = get_row(from), second = get_row(from + lanes - 1);
    mask place;
    for (int64_t i = 0; i < lanes; ++i) place[i] = static_cast<int32_t>(2 * i < lanes ? 2 * i : 2 * i + 1);
    return __builtin_shuffle(first, second, place);
}
// Loads elements with a stride. 16-bit types are converted all at once, not one by one.
template <typename T> static inline vec get_strided(const T* from, int64_t stride) {
#ifndef __clang__
    if (stride == 2) return get_every_other(from);
#endif
    if constexpr (sizeof(T) == 2) {
        halves x;
        for (int64_t i = 0; i < lanes; ++i) x[i] = bits_as<uint16_t>(from[i * stride]);
        return get_row(reinterpret_cast<const T*>(&x));
    } else {
        vec x;
        for (int64_t i = 0; i < lanes; ++i) x[i] = get(from[i * stride]);
        return x;
    }
}
template <typename T> static inline void put_strided(T* to, int64_t stride, vec x) {
    T row[lanes];
    put_row(row, x);
    for (int64_t i = 0; i < lanes; ++i) to[i * stride] = row[i];
}
// Copies elements between tensors of the same type.
template <typename T> static inline void copy_row(T* to, const T* from) { std::memcpy(to, from, lanes * sizeof(T)); }

// Loads and stores of the last `left` elements of a row, fewer than a register holds.
#ifdef __AVX512F__
template <typename V> static inline V first_of(const float* from, int64_t left) {
    return __builtin_ia32_loadups512_mask(from, V{}, static_cast<unsigned short>((1 << left) - 1));
}
template <typename V> static inline void put_first(float* to, V x, int64_t left) {
    __builtin_ia32_storeups512_mask(to, x, static_cast<unsigned short>((1 << left) - 1));
}
#endif
#if defined(__AVX512BW__) && defined(__AVX512VL__) && !defined(__clang__)
#define PASSNET_HALF_MASKS
typedef short shorts16 __attribute__((vector_size(32)));
template <typename V> static inline V first_halves(const void* from, int64_t left) {
    const unsigned short wanted = static_cast<unsigned short>((1 << left) - 1);
    return bits_as<V>(__builtin_ia32_loaddquhi256_mask(static_cast<const short*>(from), shorts16{}, wanted));
}
template <typename V> static inline void put_first_halves(void* to, V row, int64_t left) {
    const unsigned short wanted = static_cast<unsigned short>((1 << left) - 1);
    __builtin_ia32_storedquhi256_mask(static_cast<short*>(to), bits_as<shorts16>(row), wanted);
}
#endif
template <typename T, typename V = vec> static inline auto get_row(const T* from, int64_t left) {
#ifdef __AVX512F__
    if constexpr (sizeof(V) == 64 && std::is_same_v<T, float>) return first_of<V>(from, left);
#endif
#ifdef PASSNET_HALF_MASKS
    if constexpr (sizeof(V) == 64 && sizeof(T) == 2) {
        const halves row = first_halves<halves>(from, left);
        return get_row(reinterpret_cast<const T*>(&row));
    }
#endif
    T part[lanes] = {};
    for (int64_t i = 0; i < left; ++i) part[i] = from[i];
    return get_row(part);
}
template <typename T> static inline vec get_whole(const T* from, int64_t left) {
    T part[lanes] = {};
    for (int64_t i = 0; i < left; ++i) part[i] = from[i];
    return get_whole(part);
}
template <typename T, typename V> static inline void put_row(T* to, V x, int64_t left) {
#ifdef __AVX512F__
    if constexpr (sizeof(V) == 64 && std::is_same_v<T, float>) return put_first(to, x, left);
#endif
#ifdef PASSNET_HALF_MASKS
    if constexpr (sizeof(V) == 64 && sizeof(T) == 2) {
        T row[lanes];
        put_row(row, x);
        return put_first_halves(to, load_as<halves>(row), left);
    }
#endif
    T part[lanes];
    put_row(part, x);
    for (int64_t i = 0; i < left; ++i) to[i] = part[i];
}
static inline void put_row_exact(bfloat16* to, vec x, int64_t left) {
    bfloat16 part[lanes];
    put_row_exact(part, x);
    for (int64_t i = 0; i < left; ++i) to[i] = part[i];
}
template <typename T> static inline vec get_strided(const T* from, int64_t stride, int64_t left) {
    vec x = {};
    for (int64_t i = 0; i < left; ++i) x[i] = get(from[i * stride]);
    return x;
}
template <typename T> static inline void put_strided(T* to, int64_t stride, vec x, int64_t left) {
    for (int64_t i = 0; i < left; ++i) put(to + i * stride, x[i]);
}
// Returns `x` in the first `left` lanes and `other` in the remaining ones.
static inline vec first_lanes(vec x, int64_t left, float other) {
    mask place;
    for (int64_t i = 0; i < lanes; ++i) place[i] = static_cast<int32_t>(i);
    return choose(place < static_cast<int32_t>(left), x, splat(other));
}
template <typename Sum> static inline void add_left(Sum& sum, float& rest, vec x, int64_t k, int64_t width, int64_t left) {
    for (int64_t i = 0; i < left; ++i) add_left(sum, rest, x[i], k + i, width);
}

// Elementary functions without branches. Their errors are a few units in the last place.

static inline mask whole(vec x) { return __builtin_convertvector(x, mask); }

// Returns 2^(m - 1) for an integer m, given as the float n = 12582912 + m, whose low bits are m.
static inline float power_of_two(float n) { return bits_as<float>((bits_as<uint32_t>(n) + 126) << 23); }
static inline vec power_of_two(vec n) { return bits_as<vec>((bits_as<words>(n) + 126) << 23); }

// Limits `x` to [low, high]. NaN stays NaN.
template <typename V> static inline V within(V x, float low, float high) { return at_most(V{} + high, at_least(V{} + low, x)); }

// Absolute value, and a value with the sign of another. NaN stays NaN, and zeros have a sign.
static inline float size_of(float x) { return std::fabs(x); }
static inline vec size_of(vec x) { return bits_as<vec>(bits_as<words>(x) & 0x7fffffffu); }
static inline float with_sign_of(float x, float size) { return std::copysign(size, x); }
static inline vec with_sign_of(vec x, vec size) { return bits_as<vec>(bits_as<words>(size) | (bits_as<words>(x) & 0x80000000u)); }

// Returns x * 2^m for an integer m of at least -150, given as n = 12582912 + m; 0 where `bound` is 0. Subnormal results are rounded once.
template <typename V> static inline V scaled(V x, V n, V bound) {
#ifdef __AVX512F__
    if constexpr (sizeof(V) == 64)
        return __builtin_ia32_scalefps512_mask(x, choose(bound == 0.0f, V{} - INFINITY, n - 12582912.0f), x, -1, 4);
    else
#endif
    {
        // Scales in two steps, because 2^(m - 1) can be subnormal itself. Multiplies by a `bound` of exactly 0, because products that
        // underflow are slow on some CPUs, and masked rows have many of them.
        const auto is_small = n < 12582912.0f - 125.0f;
        V factor = choose(is_small, V{} + 5.421010862e-20f, V{} + 1.0f);
        return (x + x) * power_of_two(choose(is_small, n + 64.0f, n)) * (factor * bound);
    }
}

// exp(x): the reduction of Cody and Waite to [-ln2/2, ln2/2], then the polynomial of the Cephes library by Moshier.
template <typename V> static inline V exp_of(V x) {
    V bounded = within(x, -104.0f, 89.0f);
    V shifted = bounded * 1.44269504088896341f + 12582912.0f;  // the low bits are the integer n
    V n = shifted - 12582912.0f;
    V r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
    V p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return scaled(p * (r * r) + r + 1.0f, shifted, choose(bounded < -103.972f, V{}, V{} + 1.0f));
}
static inline double exp_of(double x) { return std::exp(x); }

// (exp(x) - 1) / 2 for x in [-20, 89], with the same reduction. The 1 is subtracted from the power of two, which avoids cancellation.
template <typename V> static inline V half_expm1(V x) {
    V shifted = x * 1.44269504088896341f + 12582912.0f;
    V n = shifted - 12582912.0f;
    V r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    V p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    V power = power_of_two(shifted);
    return (p * (r * r) + r) * power + (power - 0.5f);
}
// exp(x) - 1. For |x| below 5e-8, which includes subnormal numbers and -0, the result is x.
template <typename V> static inline V expm1_of(V x) {
    return choose(size_of(x) < 5e-8f, x, 2.0f * half_expm1(within(x, -20.0f, 89.0f)));
}
static inline double expm1_of(double x) { return std::expm1(x); }

// erf(x) + 1 and tanh(x) + 1, as in `gelu`: rational approximations of the Eigen library, which are faster than `erf_of` and `tanh_of`.
// Their errors are small relative to 1, but not relative to a small result. erf rounds to 1 beyond 4, and tanh beyond 9.
template <typename V> static inline V erf_plus_1(V x) {
    V bounded = within(x, -4.0f, 4.0f);
    V s = bounded * bounded;
    V p = s * -2.72614225801306e-10f + 2.77068142495902e-08f;
    p = p * s - 2.10102402082508e-06f;
    p = p * s - 5.69250639462346e-05f;
    p = p * s - 7.34990630326855e-04f;
    p = p * s - 2.95459980854025e-03f;
    p = p * s - 1.60960333262415e-02f;
    V q = s * -1.45660718464996e-05f - 2.13374055278905e-04f;
    q = q * s - 1.68282697438203e-03f;
    q = q * s - 7.37332916720468e-03f;
    q = q * s - 1.42647390514189e-02f;
    return bounded * p / q + 1.0f;
}
static inline double erf_plus_1(double x) { return std::erf(x) + 1.0; }
template <typename V> static inline V tanh_plus_1(V x) {
    V bounded = within(x, -9.0f, 9.0f);
    V s = bounded * bounded;
    V p = s * -2.76076847742355e-16f + 2.00018790482477e-13f;
    p = p * s - 8.60467152213735e-11f;
    p = p * s + 5.12229709037114e-08f;
    p = p * s + 1.48572235717979e-05f;
    p = p * s + 6.37261928875436e-04f;
    p = p * s + 4.89352455891786e-03f;
    V q = s * 1.19825839466702e-06f + 1.18534705686654e-04f;
    q = q * s + 2.26843463243900e-03f;
    q = q * s + 4.89352518554385e-03f;
    return bounded * p / q + 1.0f;
}
static inline double tanh_plus_1(double x) { return std::tanh(x) + 1.0; }

// erf(x) by minimax polynomials: of erf(x) / x - 1 in x^2 for small x, else of -log(1 - erf(x)) / x - 1 in x. Beyond 4 the result
// rounds to 1.
template <typename V> static inline V erf_of(V x) {
    V t = at_most(V{} + 4.0f, size_of(x)), s = t * t;
    V p = s * 8.2154227e-5f - 8.1059651e-4f;
    p = p * s + 5.1977970e-3f;
    p = p * s - 2.6858104e-2f;
    p = p * s + 1.1283673e-1f;
    p = p * s - 3.7612632e-1f;
    p = p * s + 1.2837917e-1f;
    V q = t * -2.1415486e-4f + 3.2164592e-3f;
    q = q * t - 2.2895148e-2f;
    q = q * t + 1.0527054e-1f;
    q = q * t + 6.3571119e-1f;
    q = q * t + 1.2851661e-1f;
    return with_sign_of(x, choose(t < 0.92f, p * t + t, -2.0f * half_expm1(-(q * t + t))));
}
static inline double erf_of(double x) { return std::erf(x); }

// tanh(x) = e / (e + 1) with e = (exp(2x) - 1) / 2. Beyond 10 the result rounds to 1.
template <typename V> static inline V tanh_of(V x) {
    V t = at_most(V{} + 10.0f, size_of(x)), e = half_expm1(t + t);
    return with_sign_of(x, e / (e + 1.0f));
}
static inline double tanh_of(double x) { return std::tanh(x); }

// log((1 + f) * 2^n) for 1 + f in [sqrt(1/2), sqrt(2)), by the polynomial of the Cephes library.
static inline vec log_of_parts(vec f, vec n) {
    const vec s = f * f;
    vec p = f * 7.0376836292e-2f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    return (f + ((p * f * s + n * -2.12194440e-4f) - s * 0.5f)) + n * 0.693359375f;
}
static inline mask exponent(vec x) { return (bits_as<mask>(x) - 0x3f3504f3) >> 23; }
static inline vec log_of(vec x) {
    const mask is_tiny = x < 1.17549435e-38f;  // subnormal numbers have no exponent of their own
    const vec normal = choose(is_tiny, x * 8388608.0f, x);
    const mask e = exponent(normal);
    const vec n = __builtin_convertvector(e, vec) - choose(is_tiny, splat(23.0f), vec{});
    vec log = log_of_parts(bits_as<vec>(bits_as<mask>(normal) - (e << 23)) - 1.0f, n);
    log = choose(x == 0.0f, splat(-INFINITY), log);
    log = choose(x == INFINITY, x, log);
    return choose(x >= 0.0f, log, splat(NAN));
}
static inline float log_of(float x) { return std::log(x); }
static inline double log_of(double x) { return std::log(x); }
// log(1 + x): the part that rounding removes from the sum 1 + x is added to its mantissa.
static inline vec log1p_of(vec x) {
    const vec sum = x + 1.0f, lost = choose(x > 1.0f, 1.0f - (sum - x), x - (sum - 1.0f));
    const mask e = exponent(sum);
    const vec rest = choose(x > 1e9f, vec{}, lost * bits_as<vec>((127 - e) << 23));
    vec log = log_of_parts(bits_as<vec>(bits_as<mask>(sum) - (e << 23)) - 1.0f + rest, __builtin_convertvector(e, vec));
    log = choose((x == INFINITY) | (sum == 1.0f), x, log);
    log = choose(x == -1.0f, splat(-INFINITY), log);
    return choose(x >= -1.0f, log, splat(NAN));
}
static inline float log1p_of(float x) { return std::log1p(x); }
static inline double log1p_of(double x) { return std::log1p(x); }

// Sine and cosine: the reduction of Cody and Waite by multiples of pi/2 to [-pi/4, pi/4], then the polynomials of the Cephes library.
// `turn` is 0 for the sine, and 1 for the cosine: cos(x) = sin(x + pi/2).
static inline vec sine(vec x, int32_t turn) {
    vec n = (x * 0.636619772367581343f + 12582912.0f) - 12582912.0f;
    vec r = (((x - n * 1.5703125f) - n * 4.837512969970703e-4f) - n * 7.549533620476723e-8f) - n * 2.563344e-12f;
    vec s = r * r;
    vec odd = ((s * -1.9515295891e-4f + 8.3321608736e-3f) * s - 1.6666654611e-1f) * s * r + r;
    vec even = ((s * 2.443315711809948e-5f - 1.388731625493765e-3f) * s + 4.166664568298827e-2f) * s * s - s * 0.5f + 1.0f;
    mask quarter = whole(n) + turn;
    vec value = choose((quarter & 1) != 0, even, odd);
    return choose((quarter & 2) != 0, -value, value);
}

// Returns whether the reduction is accurate for all lanes. For others, `sin_of` and `cos_of` call the C library for each lane.
static inline bool is_small(vec x) {
    mask beyond = (x > 8192.0f) | (x < -8192.0f);
    int32_t any = 0;
    for (int64_t i = 0; i < lanes; ++i) any |= beyond[i];
    return any == 0;
}
static inline vec sin_of(vec x) {
    if (is_small(x)) return choose(x == 0.0f, x, sine(x, 0));
    for (int64_t i = 0; i < lanes; ++i) x[i] = std::sin(x[i]);
    return x;
}
static inline vec cos_of(vec x) {
    if (is_small(x)) return sine(x, 1);
    for (int64_t i = 0; i < lanes; ++i) x[i] = std::cos(x[i]);
    return x;
}
static inline float sin_of(float x) { return std::sin(x); }
static inline float cos_of(float x) { return std::cos(x); }
static inline double sin_of(double x) { return std::sin(x); }
static inline double cos_of(double x) { return std::cos(x); }

// Functions of the C library, for each lane.
#define OF_LANES(name, function) \
    static inline float name(float x) { return function(x); } \
    static inline double name(double x) { return function(x); } \
    static inline vec name(vec x) { for (int64_t i = 0; i < lanes; ++i) x[i] = function(x[i]); return x; }
OF_LANES(sqrt_of, std::sqrt)
OF_LANES(floor_of, std::floor)
OF_LANES(ceil_of, std::ceil)
OF_LANES(trunc_of, std::trunc)
OF_LANES(round_of, std::nearbyint)
OF_LANES(abs_of, std::fabs)
#undef OF_LANES

}  // namespace passnet
