//! Tests on ordinary kernels, and on what the text of a kernel already shows. Each case is a short source.

use std::{fs, path::Path};

use proptest::prelude::*;

use super::{
    NativeLanguage::{self, Cpp, Cuda},
    ScanFinding, scan,
};

fn findings(text: &str, language: NativeLanguage) -> Vec<String> {
    let shown = scan(text, language).into_iter().map(|(_, found)| match found {
        ScanFinding::Include(rule) => format!("include {}", rule.subject),
        ScanFinding::Call(rule) => format!("call {}", rule.subject),
        ScanFinding::State(rule) => format!("state {}", rule.subject),
    });
    shown.collect()
}

/// The rules for sources accept the honest kernels with which the rules for object code are tested.
#[test]
fn honest_kernels_are_accepted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../passnet-objects/tests/honest");
    let mut report = String::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let found = findings(&fs::read_to_string(&path).unwrap(), Cpp);
        count += 1;
        if !found.is_empty() {
            report += &format!("{}: {found:?}\n", path.display());
        }
    }
    assert!(report.is_empty() && count >= 30, "{count} kernels\n{report}");
}

#[test]
fn ordinary_code_is_accepted() {
    let mut report = String::new();
    for text in [
        "#define restrict __restrict__\n#define scalar_t float\n#define SIZE (4 * 2)\n#define INLINE static inline __attribute__((always_inline))\n#define LEAST -INFINITY\nINLINE scalar_t f(scalar_t v) { return v > LEAST ? v : SIZE; }\n#undef LEAST\nvoid k(scalar_t* restrict x) { x[0] = f(x[0]); }",
        "#define EACH(n) \\\n    for (int64_t i = 0; i < n; ++i) \\\n        x[i] += 1;\nvoid k(float* x, int64_t n) { EACH(n) }",
        "#define UNROLL _Pragma(\"GCC unroll 4\")\n#pragma GCC diagnostic push\nvoid k(float* x) { UNROLL for (int i = 0; i < 4; ++i) x[i] = 0; }",
        "namespace o::p { struct F { float operator()(float v) const { return v; } }; inline float f(float v) { return v; } } namespace q = o::p; void k(float* x) { x[0] = o::p::F{}(x[0]) + q::f(x[1]); }",
        "struct V { float v; friend V operator+(V a, V b) { return {a.v + b.v}; } friend float dot(V a, V b) { return a.v * b.v; } operator float() const { return v; } explicit operator bool() const { return v != 0; } }; void k(float* x) { x[0] = V{x[0]} + V{x[1]}; x[1] = dot(V{1}, V{2}); }",
        "template <typename F> concept Op = requires(F f, float a) { f(a); }; template <Op F> static float app(F f, float a) { return f(a); } template <std::floating_point T> static T half(T v) { return v / T(2); } void k(float* x) { x[0] = app([](float v) { return v; }, half(x[0])) * std::numbers::pi_v<float>; }",
        "template <class F> static float app(F&& f, float a) { return std::forward<F>(f)(a) + std::invoke(f, a); } void k(float* x) { auto twice = [](auto op, float v) { return op(op(v)); }; auto fib = [](auto&& self, int n) -> int { return n < 2 ? n : self(self, n - 1) + self(self, n - 2); }; x[0] = app([](float v) { return v; }, twice([](float v) { return v + 1; }, x[0])) + fib(fib, 5); }",
        "static const float SCALE = std::sqrt(2.0f); constexpr auto T = []() { std::array<float, 4> t{}; for (int i = 0; i < 4; ++i) t[i] = 0.5f; return t; }(); [[gnu::always_inline]] inline float f(float v) { return v; } void k(float* x) { x[0] = f(x[0]) * SCALE + T[1]; }",
        "template <class A, class B> static auto add(A a, B b) -> decltype(a + b) { return a + b; } void k(float* x) { x[0] = add(x[0], 1); }",
        "namespace a { struct W { float v; explicit W(float u) : v(u) {} W(const W&) = delete; }; } void k(float* x) { a::W w(x[0]); x[0] = w.v; }",
        "struct alignas(16) V { float v[4]; float get(int i) const { return v[i]; } }; void k(float* x) { V v{{1, 2, 3, 4}}; x[0] = v.get(1); }",
        "struct __attribute__((packed)) V { float v; V(float u) : v(u) {} float get() const { return v; } }; void k(float* x) { V v(x[0]); x[0] = v.get(); }",
        "const int64_t BLOCK = 64; void k(float* x) { x[0] = BLOCK; }",
        "static __attribute__((noinline)) float f(float v) { return v; } void k(float* x) { x[0] = f(x[0]); }",
        "static inline __attribute__((always_inline)) float f(float v) { return v; } void k(float* x) { x[0] = f(x[0]); }",
        "static float f(const volatile float* v, int64_t i) { return v[i]; } void k(float* x) { volatile float* y = x; y[0] = f(y, 1); }",
        "const int A = 1, B = 2; static const double C[2][2] = {{1, 2}, {3, A}}; void k(float* x) { x[0] = C[0][B]; }",
        "static const float table[2] = {0.5f, -2.0f}; void k(float* x) { x[0] = table[1]; }",
        "void k(float* x) { static const int order[3] = {2, 0, 1}; x[0] = x[order[0]]; }",
        "const std::array<float, 2> table = {1, 2}; void k(float* x) { x[0] = table[1]; }",
        "const float TINY = static_cast<float>(1e-30), HUGE_ = float(1e30); void k(float* x) { x[0] = TINY + HUGE_; }",
        "static float twice(float); void k(float* x) { x[0] = twice(x[0]); } static float twice(float v) { return 2 * v; }",
        "float sum(const float* x, int64_t n = 4); float sum(const float* p, int64_t m) { return p[m]; } void k(float* x) { x[0] = sum(x); }",
        "struct Scale { float by; float operator()(float v) const { return by * v; } }; void k(float* x) { Scale scale{2}; x[0] = scale(x[0]); x[1] = Scale{3}(x[1]); x[2] = Scale()(x[2]); }",
        "template <class F> static void map(float* x, int64_t n, F f) { for (int64_t i = 0; i < n; ++i) x[i] = f(x[i]); } void k(float* x) { map(x, 4, [](float v) { return v > 0 ? v : 0; }); auto half = [](float v) { return v / 2; }; map(x, 4, half); }",
        "struct V { float x, y; V operator+(V o) const { return {x + o.x, y + o.y}; } float& operator[](int i) { return i ? y : x; } bool operator<(V o) const { return x < o.x; } }; void k(float* x) { V v{1, 2}; V w = v + v; x[0] = w[0]; }",
        "void k(float* x, int64_t n) { float signal = x[0]; int weak = 1, section = 2; for (int64_t clock = 0; clock < n; ++clock) x[clock] = signal * weak + section; }",
        "static float mix(float alias, float kill) { return alias + kill; } void k(float* x) { x[0] = mix(x[0], 1); }",
        "struct S { float weak; int system; }; void k(float* x) { S s{1, 2}; x[0] = s.weak + s.system; }",
        "void k(float* x, int64_t n) { float max = x[0], log = 0; for (int64_t i = 0; i < n; ++i) { max = max > x[i] ? max : x[i]; log += x[i]; } x[0] = max + log; }",
        "enum Mode { FAST, EXACT = 3 }; enum class Kind : int { Relu, Tanh }; template <Kind kind> static float act(float v) { return kind == Kind::Relu ? std::max(v, 0.0f) : std::tanh(v); } void k(float* x) { x[0] = act<Kind::Tanh>(x[0]) + FAST; }",
        "void k(float* x, int64_t n) { std::sort(x, x + n); std::transform(x, x + n, x, [](float v) { return v * 2; }); x[0] = std::accumulate(x, x + n, 0.0f); std::nth_element(x, x + n / 2, x + n, std::greater<float>()); }",
        "#ifdef __AVX2__\nstatic float sum8(__m256 v) { return v[0]; }\n#endif\nvoid k(float* x) {\n#ifdef __AVX2__\nx[0] = sum8(_mm256_loadu_ps(x));\n#else\nx[0] = x[1];\n#endif\n}",
        "#if defined(__AVX512F__)\nstatic float f(float v) { return v; }\n#elif defined(__AVX2__)\nstatic float f(float v) { return v + 0; }\n#else\nstatic float f(float v) { return v + 1; }\n#endif\nvoid k(float* x) { x[0] = f(x[0]); }",
        "#include <passnet/vectors.hpp>\nusing namespace passnet; void k(float* x) { put_row(x, exp_of(get_row(x))); }",
        "namespace detail { constexpr int WIDTH = 8; inline float halved(float v) { return v / 2; } } void k(float* x) { using namespace detail; x[WIDTH] = halved(x[0]) + detail::halved(x[1]); }",
        "struct Row { const float* data; int64_t size; explicit Row(const float* d, int64_t n) : data(d), size(n) {} float at(int64_t i) const { return data[i]; } float total() const { float s = 0; for (int64_t i = 0; i < size; ++i) s += at(i); return s; } }; void k(float* x) { Row row(x, 4); x[0] = row.total(); }",
        "template <typename T, int N> struct Tile { T values[N]; static constexpr int size = N; T sum() const { T s = 0; for (int i = 0; i < N; ++i) s += values[i]; return s; } }; void k(float* x) { Tile<float, 4> tile{}; x[0] = tile.sum() + Tile<float, 4>::size; }",
        "using Block = float[16]; typedef float vec __attribute__((vector_size(32))); void k(float* x) { Block b{}; vec v = {}; alignas(64) float c[16]; c[0] = v[0]; x[0] = b[0] + c[0]; }",
        "template <class... Ts> static float total(Ts... values) { return (values + ... + 0.0f); } void k(float* x) { x[0] = total(x[0], x[1], 2); }",
        "[[maybe_unused]] static inline float unused_one(float v) { return v; } __attribute__((always_inline)) inline float one(float v) { return v; } void k(float* x) { if (x[0] > 0) [[likely]] x[0] = one(x[0]); }",
        "void k(float* x, int64_t n) { auto [low, high] = std::minmax_element(x, x + n); x[0] = *low + *high; for (auto& v : std::vector<float>(4)) v = 0; }",
        "static float fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); } void k(float* x) { x[0] = fib(int(x[0])); }",
        "void k(float* x, int64_t n) { auto add = [total = 0.0f](float v) mutable { total += v; return total; }; for (int64_t i = 0; i < n; ++i) x[i] = add(x[i]); }",
        "union Bits { float value; uint32_t bits; }; static float magnitude(float v) { Bits b{v}; b.bits &= 0x7fffffffu; return b.value; } void k(float* x) { x[0] = magnitude(x[0]); }",
        "template <typename T> using Pointer = T*; void k(Pointer<float> x) { x[0] = 1; }",
        "namespace detail { namespace impl { inline float relu(float v) { return v < 0 ? 0 : v; } } using impl::relu; } void k(float* x) { using detail::relu; x[0] = relu(x[0]) + detail::relu(x[1]); }",
        "void k(float* x) { std::plus<float> plus; const std::less<> less{}; x[0] = plus(x[0], less(x[1], x[2]) ? 1.0f : 2.0f); }",
        "void k(float* x) { auto relu = [](auto a) { return a < decltype(a)(0) ? decltype(a)(0) : a; }; x[0] = relu(x[0]); }",
        "void k(float* x, int64_t n) { switch (n & 3) { case 0: x[0] = 1; break; case 1: [[fallthrough]]; default: x[0] = std::exp(x[0]); } do { --n; } while (n > 0); }",
    ] {
        let found = findings(text, Cpp);
        if !found.is_empty() {
            report += &format!("{found:?}: {text}\n");
        }
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn ordinary_code_for_gpus_is_accepted() {
    for text in [
        "extern __shared__ float tile[]; __global__ void k(float* x) { tile[threadIdx.x] = x[0]; __syncthreads(); }",
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__global__ void k(float* x) { auto block = cg::this_thread_block(); block.sync(); }",
        "#define LOAD(p) \\\n    __ldg(p)\n__global__ void k(const float* x, float* y) { y[0] = LOAD(x); }",
        "template <typename T, int N> struct Pack { T data[N]; __device__ T& operator[](int i) { return data[i]; } };",
        "__device__ __forceinline__ float act(float v) { return fmaxf(v, 0.0f); }\nstatic __device__ float twice(float v) { return v + v; }",
        "__constant__ float SCALE[2] = {0.5f, 2.0f};\nstatic constexpr int N = 4;\n__device__ constexpr float HALF = 0.5f;",
        "__global__ void k(float* x) { static __shared__ float part[32]; part[threadIdx.x] = x[0]; }",
        "__global__ void k(float* x) { auto f = [] __device__ (float v) { return v * 2; }; x[0] = f(x[0]); }",
        "typedef float (*Function)(float);",
        "struct Clock { __device__ int read() const { return 1; } }; __global__ void k(int* x) { Clock clock; x[0] = clock.read(); }",
    ] {
        assert_eq!(findings(text, Cuda), [] as [&str; 0], "{text}");
    }
}

#[test]
fn hints_name_what_ptx_is_refused_for() {
    let shown: Vec<String> = [
        "__device__ float cache[16];",
        "__device__ int calls = 0;",
        "__global__ void k(float* x) { static int calls; x[0] = ++calls; }",
        "__managed__ int calls;",
        "__global__ void k(long long* x) { x[0] = clock64(); }",
        "__global__ void k(int* x) { asm volatile(\"mov.u32 %0, %clock;\" : \"=r\"(x[0])); }",
        "#define NOW asm(\"\")\n__global__ void k(int* x) { NOW; }",
        "#include \"/etc/hostname\"\n",
        "#inc\\\nlude \"/etc/hostname\"\n",
        "#define JOIN(a, b) a##b\n__global__ void k(int* x) { JOIN(a, sm)(\"\"); }",
        "__global__ void k(int* x) { as\\\nm(\"\"); }",
        "__global__ void k(int* x) { as\\\r\n\\\nm(\"\"); }",
        "#embed \"/proc/uptime\"\n",
        "__global__ void k(char* x) { x[0] = __TIME__[7]; }",
        "__global__ void k(float* x) { printf(\"%f\", x[0]); }",
    ]
    .iter()
    .map(|text| findings(text, Cuda).join("; "))
    .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

/// A compiler reads these files. A scan that takes a broken line for two sees a comment, a macro or plain tokens instead.
#[test]
fn directives_that_read_files_are_refused_in_any_form() {
    for text in [
        "#include \"/etc/hostname\"\n",
        "#  include   </etc/hostname>\n",
        "/**/ #include \"/etc/hostname\"\n",
        "#inc\\\nlude \"/etc/hostname\"\n",
        "#inc\\ \nlude \"/etc/hostname\"\n",
        "#\\\ninclude \"/etc/hostname\"\n",
        "#include/**/\"/etc/hostname\"\n",
        "%:include \"/etc/hostname\"\n",
        "%\\\n:include \"/etc/hostname\"\n",
        "/* *\\\n/\n#include \"/etc/hostname\"\n/* */\n",
        "/* *\\ \n/\n#include \"/etc/hostname\"\n/* */\n",
        "auto s = R\"x(\")x\";\n",
        "auto s = R\\\n\"x(\")x\"; auto t = \"\";\n",
        "#define H </etc/hostname>\n#include H\n",
        "#include_next <hostname>\n",
        "#import <hostname>\n",
        "#embed </etc/hostname>\n",
        "#if __has_include(\"/etc/hostname\")\n#endif\n",
        "#define ASK __has_include\n#if ASK(</etc/hostname>)\n#endif\n",
    ] {
        for language in [Cpp, Cuda] {
            assert!(!findings(text, language).is_empty(), "{language:?}: {text}");
        }
    }
}

/// Pieces of C++ in any order.
fn soup() -> impl Strategy<Value = String> {
    let pieces = [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        ";",
        ",",
        "=",
        "::",
        ".",
        "->",
        "*",
        "&",
        ":",
        "?",
        "+",
        "float",
        "auto",
        "const",
        "static",
        "struct",
        "template",
        "typename",
        "operator",
        "using",
        "T",
        "f",
        "x",
        "memcpy",
        "system",
        "std",
        "max",
        "1",
        "\"C\"",
        "extern",
        "namespace",
        "mutable",
        "return",
        "__attribute__",
        "\n#if 0\n",
        "\n#else\n",
        "\n#endif\n",
        "\n#define A(x) x\n",
        "A",
        "[[",
        "]]",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..60).prop_map(|parts| parts.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_tokens_is_judged(text in soup()) {
        findings(&text, Cpp);
        findings(&text, Cuda);
    }
}
