//! Names, headers, directives and flags that native kernels may use.

/// Headers of mathematics, integers, algorithms, containers, SIMD and half types.
const HEADERS: &[&str] = &[
    "<algorithm>",
    "<array>",
    "<cfloat>",
    "<climits>",
    "<cmath>",
    "<cstddef>",
    "<cstdint>",
    "<cstring>",
    "<cuda_bf16.h>",
    "<cuda_fp16.h>",
    "<cuda_runtime.h>",
    "<float.h>",
    "<immintrin.h>",
    "<limits>",
    "<math.h>",
    "<mma.h>",
    "<numeric>",
    "<omp.h>",
    "<stddef.h>",
    "<stdint.h>",
    "<string.h>",
    "<tuple>",
    "<type_traits>",
    "<utility>",
    "<vector>",
    "<x86intrin.h>",
];

/// Names that reach outside of a computation, or keep state, whether called, defined or taken as values. Among them are
/// all such functions that the allowed headers declare.
const DENIED: &[&str] = &[
    "_Exit",
    "__asm",
    "__asm__",
    "__attribute",
    "_exit",
    "_mm_free",
    "_mm_getcsr",
    "_mm_malloc",
    "_mm_setcsr",
    "abort",
    "alias",
    "aligned_alloc",
    "alloca",
    "arc4random",
    "arc4random_buf",
    "arc4random_uniform",
    "asm",
    "at_quick_exit",
    "atexit",
    "bsearch",
    "calloc",
    "canonicalize_file_name",
    "catch",
    "clearenv",
    "clock",
    "clock64",
    "const_cast",
    "constructor",
    "cudaFree",
    "cudaMalloc",
    "delete",
    "destructor",
    "dlclose",
    "dlopen",
    "dlsym",
    "drand48",
    "environ",
    "erand48",
    "errno",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execvp",
    "exit",
    "fopen",
    "fork",
    "free",
    "friend",
    "getenv",
    "getloadavg",
    "getpt",
    "globaltimer",
    "goto",
    "grantpt",
    "ifunc",
    "initstate",
    "invoke",
    "jrand48",
    "kill",
    "lcong48",
    "longjmp",
    "lrand48",
    "main",
    "malloc",
    "memalign",
    "memfrob",
    "mkdtemp",
    "mkostemp",
    "mkostemps",
    "mkstemp",
    "mkstemps",
    "mktemp",
    "mmap",
    "mprotect",
    "mrand48",
    "new",
    "nrand48",
    "on_exit",
    "operator",
    "perror",
    "popen",
    "posix_memalign",
    "posix_openpt",
    "printf",
    "ptrace",
    "ptsname",
    "putenv",
    "puts",
    "qsort",
    "qsort_r",
    "quick_exit",
    "rand",
    "rand_r",
    "random_r",
    "realloc",
    "reallocarray",
    "realpath",
    "section",
    "secure_getenv",
    "seed48",
    "setenv",
    "setjmp",
    "setstate",
    "sigaction",
    "signal",
    "signgam",
    "sleep",
    "socket",
    "srand",
    "srand48",
    "srandom",
    "stderr",
    "stdin",
    "stdout",
    "strdup",
    "strerror",
    "strfry",
    "strndup",
    "strtok",
    "symver",
    "syscall",
    "system",
    "thread",
    "throw",
    "try",
    "typeid",
    "unlockpt",
    "unsetenv",
    "usleep",
    "valloc",
    "vfork",
    "virtual",
    "weak",
];

/// Prefixes of such names.
const DENIED_PREFIXES: &[&str] =
    &["cublas", "omp_alloc", "omp_set", "omp_target", "cudnn", "pthread_", "sched_", "torch", "aten", "c10"];

const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "const",
    "constexpr",
    "decltype",
    "do",
    "else",
    "for",
    "if",
    "noexcept",
    "return",
    "sizeof",
    "static_assert",
    "static_cast",
    "reinterpret_cast",
    "switch",
    "while",
    "case",
    "defined",
    "explicit",
    "__launch_bounds__",
    "__align__",
    "__attribute__",
];

const TYPES: &[&str] = &[
    "auto",
    "bool",
    "char",
    "double",
    "float",
    "int",
    "long",
    "short",
    "signed",
    "unsigned",
    "void",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "size_t",
    "ptrdiff_t",
    "intptr_t",
    "uintptr_t",
    "_Float16",
    "float16",
    "bfloat16",
    "floats",
    "halves",
    "__bf16",
    "half",
    "half2",
    "__half",
    "__half2",
    "__nv_bfloat16",
    "__nv_bfloat162",
    "dim3",
    "float2",
    "float3",
    "float4",
    "double2",
    "int2",
    "int4",
    "uint2",
    "uint4",
    "__m128",
    "__m128i",
    "__m256",
    "__m256d",
    "__m256i",
    "__m512",
    "__m512d",
    "__m512i",
    "__mmask8",
    "__mmask16",
    "__mmask32",
];

/// Functions of mathematics and memory, of the worker's prelude, and of CUDA's device code.
const CALLABLE: &[&str] = &[
    "abs",
    "acos",
    "acosf",
    "acosh",
    "asin",
    "asinf",
    "asinh",
    "atan",
    "atan2",
    "atan2f",
    "atanf",
    "atanh",
    "cbrt",
    "cbrtf",
    "ceil",
    "ceilf",
    "copysign",
    "copysignf",
    "cos",
    "cosf",
    "cosh",
    "coshf",
    "erf",
    "erfc",
    "erfcf",
    "erff",
    "exp",
    "exp2",
    "exp2f",
    "expf",
    "expm1",
    "expm1f",
    "fabs",
    "fabsf",
    "floor",
    "floorf",
    "fma",
    "fmaf",
    "fmax",
    "fmaxf",
    "fmin",
    "fminf",
    "fmod",
    "fmodf",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "ldexpf",
    "lgamma",
    "lgammaf",
    "log",
    "log10",
    "log10f",
    "log1p",
    "log1pf",
    "log2",
    "log2f",
    "logf",
    "lrint",
    "lrintf",
    "lround",
    "lroundf",
    "max",
    "memcpy",
    "memmove",
    "memset",
    "min",
    "nearbyint",
    "nearbyintf",
    "pow",
    "powf",
    "rint",
    "rintf",
    "round",
    "roundf",
    "rsqrt",
    "rsqrtf",
    "signbit",
    "sin",
    "sinf",
    "sinh",
    "sinhf",
    "sqrt",
    "sqrtf",
    "swap",
    "tan",
    "tanf",
    "tanh",
    "tanhf",
    "tgamma",
    "trunc",
    "truncf",
    "bf16_to_float",
    "bits_of",
    "fast_exp",
    "fast_tanh",
    "float_of",
    "get",
    "load",
    "multiply_add",
    "narrow",
    "put",
    "read",
    "reduce",
    "round_to",
    "row_max",
    "row_sum",
    "store",
    "widen",
    "float_to_bf16",
    "float_to_half",
    "half_to_float",
    "kept",
    "omp_get_max_threads",
    "omp_get_num_threads",
    "omp_get_thread_num",
    "atomicAdd",
    "atomicMax",
    "atomicMin",
    "make_float2",
    "make_float4",
    "make_int2",
    "make_int4",
    "__builtin_assume_aligned",
    "__builtin_clz",
    "__builtin_convertvector",
    "__builtin_shuffle",
    "__builtin_shufflevector",
    "aligned",
    "vector_size",
    "__builtin_ctz",
    "__builtin_expect",
    "__builtin_memcpy",
    "__builtin_popcount",
    "__builtin_prefetch",
    "__builtin_unreachable",
    "__ldg",
    "__expf",
    "__logf",
    "__fdividef",
    "__frcp_rn",
    "__fsqrt_rn",
    "__saturatef",
    "__float_as_int",
    "__int_as_float",
    "__float_as_uint",
    "__uint_as_float",
    "__syncthreads",
    "__syncwarp",
    "__activemask",
    "__ballot_sync",
    "__all_sync",
    "__any_sync",
];

/// Prefixes of intrinsics.
const CALLABLE_PREFIXES: &[&str] = &[
    "_mm_",
    "_mm256_",
    "_mm512_",
    "_cvt",
    "__shfl",
    "__half",
    "__float2",
    "__bfloat16",
    "__low2",
    "__high2",
    "__h",
    "__reduce_",
];

const STD: &[&str] = &[
    "abs",
    "acos",
    "array",
    "asin",
    "atan",
    "atan2",
    "cbrt",
    "ceil",
    "clamp",
    "conditional_t",
    "copy",
    "copy_n",
    "copysign",
    "cos",
    "cosh",
    "decay_t",
    "enable_if_t",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fill",
    "fill_n",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "forward",
    "get",
    "index_sequence",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "integral_constant",
    "iota",
    "is_floating_point_v",
    "is_same",
    "is_same_v",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "lround",
    "make_pair",
    "make_tuple",
    "max",
    "max_element",
    "memcpy",
    "memmove",
    "memset",
    "min",
    "min_element",
    "minmax",
    "move",
    "nearbyint",
    "numeric_limits",
    "pair",
    "pow",
    "ptrdiff_t",
    "reverse",
    "rint",
    "round",
    "signbit",
    "sin",
    "sinh",
    "size_t",
    "sqrt",
    "swap",
    "tan",
    "tanh",
    "tgamma",
    "tie",
    "trunc",
    "tuple",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "vector",
];

/// Members of standard types.
const MEMBERS: &[&str] = &[
    "at",
    "assign",
    "back",
    "begin",
    "cbegin",
    "cend",
    "data",
    "denorm_min",
    "empty",
    "end",
    "epsilon",
    "fill",
    "first",
    "front",
    "infinity",
    "lowest",
    "max",
    "min",
    "push_back",
    "quiet_NaN",
    "reserve",
    "resize",
    "second",
    "size",
    "swap",
    "type",
    "value",
    "x",
    "y",
    "z",
    "w",
];

const FLAGS: &[&str] = &[
    "-O1",
    "-O2",
    "-O3",
    "-Ofast",
    "-fassociative-math",
    "-fno-math-errno",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-ffast-math",
    "-ffinite-math-only",
    "-ffp-contract=fast",
    "-ffp-contract=off",
    "-fopenmp",
    "-fopenmp-simd",
    "-freciprocal-math",
    "-fno-exceptions",
    "-fno-rtti",
    "-ftree-vectorize",
    "-funroll-loops",
    "-funsafe-math-optimizations",
    "-march=native",
    "-mtune=native",
    "-mavx",
    "-mavx2",
    "-mavx512f",
    "-mf16c",
    "-mfma",
    "-mprefer-vector-width=256",
    "-mprefer-vector-width=512",
    "--use_fast_math",
];

pub(super) fn is_denied(name: &str) -> bool {
    DENIED.contains(&name) || DENIED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

pub(super) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

pub(super) fn is_type(name: &str) -> bool {
    TYPES.contains(&name)
}

pub(super) fn is_callable(name: &str) -> bool {
    CALLABLE.contains(&name) || CALLABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

pub(super) fn is_std(name: &str) -> bool {
    STD.contains(&name)
}

pub(super) fn is_member(name: &str) -> bool {
    MEMBERS.contains(&name)
}

/// Whether a native kernel may be compiled with this flag.
pub(in crate::lint) fn is_flag(flag: &str) -> bool {
    let silences = |rest: &str| rest.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    flag.strip_prefix("-Wno-").is_some_and(silences)
        || FLAGS.contains(&flag)
        || defined_type(flag).is_some()
        || flag.strip_prefix("-D").is_some_and(is_constant)
}

/// The name that a flag `-DNAME=TYPE` makes a type.
pub(in crate::lint) fn defined_type(flag: &str) -> Option<&str> {
    let (name, value) = flag.strip_prefix("-D")?.split_once('=')?;
    (is_free(name) && is_type(value)).then_some(name)
}

/// `NAME=NUMBER` or `NAME`.
fn is_constant(definition: &str) -> bool {
    let (name, value) = definition.split_once('=').unwrap_or((definition, ""));
    is_free(name) && is_number(value)
}

/// Whether a macro of this name hides nothing.
fn is_free(name: &str) -> bool {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    plain
        && !is_keyword(name)
        && !is_type(name)
        && !is_callable(name)
        && !is_std(name)
        && !is_member(name)
        && !is_denied(name)
}

/// Whether a macro's value is arithmetic on numbers.
fn is_number(value: &str) -> bool {
    let allowed = |c: char| c.is_ascii_digit() || " .-+()*/efxuL".contains(c);
    value.chars().all(allowed)
}

/// Whether a preprocessor directive, white space normalised, is allowed.
pub(super) fn is_directive(directive: &str) -> bool {
    let (name, rest) = directive.split_once(' ').unwrap_or((directive, ""));
    match name {
        "#include" => HEADERS.contains(&rest),
        "#if" | "#ifdef" | "#ifndef" | "#else" | "#elif" | "#endif" | "#error" => true,
        "#pragma" => {
            let mut words = rest.split([' ', '(']);
            match words.next() {
                Some("omp") => !rest.contains("threadprivate") && !rest.contains("declare reduction"),
                Some("unroll" | "once") => true,
                Some("GCC") => matches!(words.next(), Some("ivdep" | "unroll")),
                _ => false,
            }
        }
        "#define" => {
            // A name for a number. A parameter list would follow the name without a space.
            let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
            is_free(name) && is_number(value)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_the_prelude_offers_can_be_called() {
        let prelude = include_str!("../../../../../python/passnet/_prelude.hpp");
        let heads = prelude.lines().filter(|line| line.starts_with("static inline") || line.starts_with("inline"));
        for line in heads {
            let name =
                line.split(['(', '<']).next().and_then(|head| head.rsplit([' ', '*']).next()).unwrap_or_default();
            assert!(is_callable(name), "{name}: {line}");
        }
    }

    #[test]
    fn flags_define_types_and_numbers() {
        assert!(is_flag("-Delement=float16") && is_flag("-DBLOCK=64") && is_flag("-O3"));
        assert_eq!(defined_type("-Delement=float"), Some("element"));
        for flag in ["-Delement=system", "-Dfloat=double", "-Dsqrtf=0", "-DX(a)=a", "-include", "-O3 -include", "-D=1"]
        {
            assert!(!is_flag(flag), "{flag}");
        }
    }
}
