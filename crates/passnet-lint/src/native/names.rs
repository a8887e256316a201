//! Names, headers, directives and flags that native kernels may use. The tables are text files, one name on a line.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

type Names = FxHashSet<&'static str>;

fn names(table: &'static str) -> Names {
    table.lines().collect()
}

/// Headers of mathematics, integers, algorithms, containers, SIMD and half types.
static HEADERS: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/headers.txt")));

/// Further headers for CUDA.
static DEVICE_HEADERS: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/device_headers.txt")));

/// Names that give access to the system, or keep state. They are refused when called, defined or used as values. All such
/// functions of the allowed headers are among them.
static DENIED: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/denied.txt")));

/// Prefixes of names that are refused like [`DENIED`].
const DENIED_PREFIXES: &[&str] =
    &["cublas", "omp_alloc", "omp_set", "omp_target", "cudnn", "pthread_", "sched_", "torch", "aten", "c10"];

static KEYWORDS: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/keywords.txt")));

static TYPES: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/types.txt")));

/// Functions that a source may call: mathematics and memory, the worker's prelude, and CUDA's device code.
static CALLABLE: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/callable.txt")));

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

/// Keywords, and names of attributes and operators of the compiler, that kernels do not need.
static FORBIDDEN: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/forbidden.txt")));

/// Functions that the allowed headers declare and that a source may not call. If a source defines one of these names, a call
/// might still reach the function of the header.
static RESERVED: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/reserved.txt")));

static STD_FUNCTIONS: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/std_functions.txt")));

/// Types and constants of `std`.
static STD_TYPES: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/std_types.txt")));

static STD_CONCEPTS: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/std_concepts.txt")));

/// Members of standard types.
static MEMBERS: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/members.txt")));

static FLAGS: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/flags.txt")));

/// Returns whether a CUDA source may include a header. `header` has its angle brackets.
pub(super) fn is_device_header(header: &str) -> bool {
    HEADERS.contains(header) || DEVICE_HEADERS.contains(header)
}

pub(super) fn is_denied(name: &str) -> bool {
    DENIED.contains(name) || DENIED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

pub(super) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(name)
}

pub(super) fn is_type(name: &str) -> bool {
    TYPES.contains(name)
}

pub(super) fn is_callable(name: &str) -> bool {
    CALLABLE.contains(name) || CALLABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

pub(super) fn is_forbidden(name: &str) -> bool {
    FORBIDDEN.contains(name)
}

pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(name)
}

pub(super) fn is_std(name: &str) -> bool {
    STD_TYPES.contains(name) || is_std_function(name) || is_std_concept(name)
}

pub(super) fn is_std_function(name: &str) -> bool {
    STD_FUNCTIONS.contains(name)
}

pub(super) fn is_std_concept(name: &str) -> bool {
    STD_CONCEPTS.contains(name)
}

pub(super) fn is_member(name: &str) -> bool {
    MEMBERS.contains(name)
}

/// Returns whether a native kernel may be compiled with this flag.
pub(crate) fn is_flag(flag: &str) -> bool {
    let silences = |rest: &str| rest.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    flag.strip_prefix("-Wno-").is_some_and(silences)
        || FLAGS.contains(flag)
        || defined_type(flag).is_some()
        || flag.strip_prefix("-D").is_some_and(is_constant)
}

/// Returns the name that a flag `-DNAME=TYPE` makes a type.
pub(crate) fn defined_type(flag: &str) -> Option<&str> {
    let (name, value) = flag.strip_prefix("-D")?.split_once('=')?;
    (is_free(name) && is_type(value)).then_some(name)
}

/// Returns whether a definition is `NAME=NUMBER` or `NAME`.
fn is_constant(definition: &str) -> bool {
    let (name, value) = definition.split_once('=').unwrap_or((definition, ""));
    is_free(name) && is_number(value)
}

/// Returns whether a name has no other meaning that a macro of this name would hide.
pub(super) fn is_free(name: &str) -> bool {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    plain
        && !is_keyword(name)
        && !is_type(name)
        && !is_callable(name)
        && !is_std(name)
        && !is_member(name)
        && !is_denied(name)
        && !is_forbidden(name)
        && !is_reserved(name)
}

/// Returns whether a macro's value is arithmetic on numbers.
fn is_number(value: &str) -> bool {
    let allowed = |c: char| c.is_ascii_digit() || " .-+()*/efxuL".contains(c);
    value.chars().all(allowed)
}

/// Returns whether a preprocessor directive with normalised white space is allowed.
pub(super) fn is_directive(directive: &str) -> bool {
    let (name, rest) = directive.split_once(' ').unwrap_or((directive, ""));
    match name {
        "#include" => HEADERS.contains(rest),
        "#if" | "#ifdef" | "#ifndef" | "#else" | "#elif" | "#endif" | "#error" => true,
        "#pragma" => {
            let mut words = rest.split([' ', '(']);
            match words.next() {
                Some("omp") => !rest.contains("threadprivate") && !rest.contains("declare reduction"),
                Some("unroll" | "nounroll" | "once") => true,
                Some("GCC") => matches!(words.next(), Some("ivdep" | "unroll" | "diagnostic")),
                _ => false,
            }
        }
        "#define" => {
            // The directive gives a number a name. A parameter list would follow the name without a space.
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
        let prelude = include_str!("../../../../python/passnet/kernels/prelude.hpp");
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
