// Prelude of every kernel of `passnet.kernels.cpp`: element types, conversions, and reductions of rows. It is put before the source.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

static inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// Returns `value` through an empty asm statement, which hides its origin from the compiler. A product is then rounded before it is
// added to another number, as in eager mode, instead of becoming a fused multiply-add.
template <class T>
static inline T kept(T value) {
#if defined(__AVX512F__)
    constexpr std::size_t widest = 64;
#elif defined(__AVX__)
    constexpr std::size_t widest = 32;
#else
    constexpr std::size_t widest = 16;
#endif
    if constexpr (sizeof(T) > widest) {
        // The value is wider than a register, so it is hidden in parts.
        float part[sizeof(T) / sizeof(float)];
        std::memcpy(part, &value, sizeof value);
        for (float& one : part) one = kept(one);
        std::memcpy(&value, part, sizeof value);
    } else {
#ifdef __x86_64__
        asm("" : "+x"(value));
#else
        asm("" : "+w"(value));
#endif
    }
    return value;
}

// Hides the origin of a condition, so that the compiler does not vectorise the loop around it: for AVX-512, GCC 12 generates wrong code
// for loops whose conditions choose between elements of several arrays.
static inline bool kept(bool condition) {
    asm("" : "+r"(condition));
    return condition;
}

// Conversions have no branches, so that compilers can vectorise loops over them.

static inline float bf16_to_float(uint16_t bits) { return float_of(static_cast<uint32_t>(bits) << 16); }

static inline uint16_t float_to_bf16(float value) {
    uint32_t bits = bits_of(value);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : rounded);  // NaN stays NaN
}

static inline float half_to_float(uint16_t half) {
    // The shift moves the exponent to the position that it has in a float. The factor 2^112 corrects the bias, and turns subnormals into
    // normal numbers.
    float magnitude = float_of((half & 0x7fffu) << 13) * 0x1p112f;
    uint32_t special = magnitude >= 65536.0f ? 0x7f800000u : 0u;
    return float_of(bits_of(magnitude) | special | (half & 0x8000u) << 16);
}

static inline uint16_t float_to_half(float value) {
    uint32_t bits = bits_of(value) & 0x7fffffffu;
    uint32_t normal = (bits - 0x38000000u + 0xfffu + (bits >> 13 & 1u)) >> 13;
    // The unit in the last place of 0.5 is the smallest subnormal of float16, so the addition rounds to a multiple of it.
    uint32_t subnormal = bits_of(float_of(bits) + 0.5f) - 0x3f000000u;
    uint32_t special = bits > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t finite = bits < 0x38800000u ? subnormal : normal;
    return static_cast<uint16_t>((bits >= 0x47800000u ? special : finite) | (bits_of(value) >> 16 & 0x8000u));
}

struct float16 {
    uint16_t bits;
    float16() = default;
    explicit float16(float value) : bits(float_to_half(value)) {}
    operator float() const { return half_to_float(bits); }
};

struct bfloat16 {
    uint16_t bits;
    bfloat16() = default;
    explicit bfloat16(float value) : bits(float_to_bf16(value)) {}
    operator float() const { return bf16_to_float(bits); }
};

// a * b + c, rounded once if the CPU has such an instruction, as eager mode does inside one operation.
static inline float multiply_add(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

// `load` and `store` convert rows of any element type to rows of float and back. `round_to` rounds a row of float to the values that
// storing and loading would give, because an eager operation passes its result to the next one through memory. float16 uses the
// conversion instructions of the CPU, which compilers do not find in loops. They work on as many elements as the loops around them, so
// that the CPU can forward stores to loads.

template <typename T>
static inline void load(const T* from, float* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

template <typename T>
static inline void store(const float* from, T* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = T(from[i]);
}

// Returns a row as float: the row itself if it is float, else a converted copy in `buffer`.
template <typename T>
static inline const float* read(const T* from, float* buffer, int64_t count) {
    load(from, buffer, count);
    return buffer;
}

template <>
inline const float* read<float>(const float* from, float*, int64_t) {
    return from;
}

template <typename T>
static inline void round_to(float* row, int64_t count) {
    for (int64_t i = 0; i < count; ++i) row[i] = T(row[i]);
}

template <>
inline void round_to<float>(float*, int64_t) {}

// Number of float values in a vector. `-DPASSNET_VECTOR_LANES=16` (or 8, 4) replaces the number that fits the CPU's registers;
// compilers split wider vectors into several instructions.
#ifndef PASSNET_VECTOR_LANES
#ifdef __AVX512F__
#define PASSNET_VECTOR_LANES 16
#else
#define PASSNET_VECTOR_LANES 8
#endif
#endif
constexpr int64_t lanes = PASSNET_VECTOR_LANES;
static_assert(lanes == 4 || lanes == 8 || lanes == 16, "vectors are written for 4, 8 and 16 lanes");

#ifdef __F16C__
typedef float floats __attribute__((vector_size(lanes * sizeof(float))));
typedef short halves __attribute__((vector_size(lanes * sizeof(short))));

template <typename Vector>
static inline Vector get(const void* from) {
    Vector row;
    std::memcpy(&row, from, sizeof row);
    return row;
}

template <typename Vector>
static inline void put(void* to, Vector row) {
    std::memcpy(to, &row, sizeof row);
}

// Conversions of float16 by instructions of the CPU, which round to nearest. They use the builtins behind <immintrin.h> of GCC and
// Clang, because reading that header takes longer than compiling most kernels.
typedef float floats8 __attribute__((vector_size(32)));
typedef short halves8 __attribute__((vector_size(16)));

static inline floats8 widen8(halves8 row) { return __builtin_ia32_vcvtph2ps256(row); }
static inline halves8 narrow8(floats8 row) { return __builtin_ia32_vcvtps2ph256(row, 0); }

static inline floats widen(halves row) {
    floats wide;
    if constexpr (lanes < 8) {
        halves8 whole = {};
        std::memcpy(&whole, &row, sizeof row);
        const floats8 converted = widen8(whole);
        std::memcpy(&wide, &converted, sizeof wide);
    } else {
#ifdef __AVX512F__
        if constexpr (lanes == 16) {
            typedef float floats16 __attribute__((vector_size(64)));
            typedef short halves16 __attribute__((vector_size(32)));
            put(&wide, floats16(__builtin_ia32_vcvtph2ps512_mask(get<halves16>(&row), floats16{}, -1, 4)));
            return wide;
        }
#endif
        for (int64_t i = 0; i < lanes; i += 8)
            put(reinterpret_cast<float*>(&wide) + i, widen8(get<halves8>(reinterpret_cast<short*>(&row) + i)));
    }
    return wide;
}

static inline halves narrow(floats row) {
    halves half;
    if constexpr (lanes < 8) {
        floats8 whole = {};
        std::memcpy(&whole, &row, sizeof row);
        const halves8 converted = narrow8(whole);
        std::memcpy(&half, &converted, sizeof half);
    } else {
#ifdef __AVX512F__
        if constexpr (lanes == 16) {
            typedef float floats16 __attribute__((vector_size(64)));
            typedef short halves16 __attribute__((vector_size(32)));
            put(&half, halves16(__builtin_ia32_vcvtps2ph512_mask(get<floats16>(&row), 0, halves16{}, -1)));
            return half;
        }
#endif
        for (int64_t i = 0; i < lanes; i += 8)
            put(reinterpret_cast<short*>(&half) + i, narrow8(get<floats8>(reinterpret_cast<float*>(&row) + i)));
    }
    return half;
}

template <>
inline void load<float16>(const float16* from, float* to, int64_t count) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) put(to + i, widen(get<halves>(from + i)));
    for (; i < count; ++i) to[i] = from[i];
}

template <>
inline void store<float16>(const float* from, float16* to, int64_t count) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) put(to + i, narrow(get<floats>(from + i)));
    for (; i < count; ++i) to[i] = float16(from[i]);
}

template <>
inline void round_to<float16>(float* row, int64_t count) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) put(row + i, widen(narrow(get<floats>(row + i))));
    for (; i < count; ++i) row[i] = float16(row[i]);
}
#endif

// Reductions of a row. They work on independent parts, because in a single part each operation would wait for the one before it.

// Sum of a row, in the order in which PyTorch adds along the last dimension on x86 CPUs: four accumulators of eight lanes, which are
// added to a second level after every 16 steps. For rows of up to 8192 elements, the result equals PyTorch's.
static inline float row_sum(const float* row, int64_t count) {
    constexpr int64_t lanes = 8, width = 4 * lanes;
    float parts[width] = {}, aside[width] = {};
    int64_t i = 0;
    while (i + width <= count) {
        const int64_t stop = std::min(count - width, i + 15 * width);
        const bool full = stop == i + 15 * width;
        for (; i <= stop; i += width)
            for (int64_t lane = 0; lane < width; ++lane) parts[lane] += row[i + lane];
        for (int64_t lane = 0; full && lane < width; ++lane) aside[lane] += parts[lane], parts[lane] = 0;
    }
    for (int64_t lane = 0; lane < width; ++lane) parts[lane] += aside[lane];
    for (; i + lanes <= count; i += lanes)
        for (int64_t lane = 0; lane < lanes; ++lane) parts[lane] += row[i + lane];
    for (int64_t lane = 0; lane < lanes; ++lane)
        parts[lane] = parts[lane] + parts[lane + lanes] + parts[lane + 2 * lanes] + parts[lane + 3 * lanes];
    float sum = 0;
    for (; i < count; ++i) sum += row[i];
    for (int64_t lane = 0; lane < lanes; ++lane) sum += parts[lane];
    return sum;
}

static inline float row_max(const float* row, int64_t count) {
    float parts[16];
    for (float& part : parts) part = row[0];
    int64_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (int64_t lane = 0; lane < 16; ++lane) parts[lane] = parts[lane] < row[i + lane] ? row[i + lane] : parts[lane];
    for (; i < count; ++i) parts[0] = std::max(parts[0], row[i]);
    return *std::max_element(parts, parts + 16);
}

// exp and tanh without calls of the C library, so that loops over them can be vectorised. Their errors are at most 2 and 4 units in the
// last place. Results of exp below the smallest normal number become zero, because subnormals are slow.

static inline float fast_exp(float x) {
    // exp(x) = 2^k exp(r) with |r| <= ln(2)/2, and the polynomial of the Cephes library for exp(r). Adding `rounder` rounds to an integer.
    constexpr float rounder = 12582912.0f;
    const float given = x;
    x = std::max(std::min(x, 89.0f), -88.0f);
    float shifted = multiply_add(x, 1.44269504f, rounder);
    float k = shifted - rounder;
    float r = multiply_add(k, 2.12194440e-4f, multiply_add(k, -0.693359375f, x));
    float p = 1.9875691500e-4f;
    p = multiply_add(p, r, 1.3981999507e-3f);
    p = multiply_add(p, r, 8.3334519073e-3f);
    p = multiply_add(p, r, 4.1665795894e-2f);
    p = multiply_add(p, r, 1.6666665459e-1f);
    p = multiply_add(p, r, 5.0000001201e-1f);
    p = multiply_add(p, r * r, r) + 1.0f;
    // Multiplies by 2^k in two steps, because 2^k alone can overflow where the result does not.
    int32_t n = static_cast<int32_t>(bits_of(shifted)) - static_cast<int32_t>(bits_of(rounder));
    int32_t half = n >> 1;
    float result =
        p * float_of(static_cast<uint32_t>(half + 127) << 23) * float_of(static_cast<uint32_t>(n - half + 127) << 23);
    return given < -87.33654f ? 0.0f : result;
}

static inline float fast_tanh(float x) {
    float magnitude = std::fabs(x), square = x * x;
    float large = 1.0f - 2.0f / (fast_exp(2.0f * magnitude) + 1.0f);
    float series = 2.0f / 15 - square * (17.0f / 315 - square * (62.0f / 2835));
    float small = magnitude + magnitude * square * (-1.0f / 3 + square * series);
    return std::copysign(magnitude < 0.3f ? small : large, x);
}
