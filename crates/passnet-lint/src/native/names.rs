//! Names, headers, directives and flags of native kernels. The tables are text files, one name on a line.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use super::language::NativeLanguage;

type Names = FxHashSet<&'static str>;

fn names(table: &'static str) -> Names {
    table.lines().collect()
}

/// Headers of the standard library and of intrinsics. The compiled code shows which of their functions a kernel calls.
static HEADERS: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/headers.txt")));

/// Further headers for CUDA.
static DEVICE_HEADERS: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/device_headers.txt")));

/// Functions that give access to the system, or keep state. No compiled kernel may call them.
static DENIED: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/denied.txt")));

/// Prefixes of names that are refused like [`DENIED`].
const DENIED_PREFIXES: &[&str] =
    &["cublas", "omp_alloc", "omp_set", "omp_target", "cudnn", "pthread_", "sched_", "torch", "aten", "c10"];

/// Types that the flag `-DNAME=TYPE` may name.
static TYPES: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/types.txt")));

static FLAGS: LazyLock<Names> = LazyLock::new(|| names(include_str!("../names/native/flags.txt")));

/// Returns whether a source may include a header. `header` has its angle brackets.
pub(super) fn is_header(header: &str, language: NativeLanguage) -> bool {
    HEADERS.contains(header) || language == NativeLanguage::Cuda && DEVICE_HEADERS.contains(header)
}

pub(super) fn is_denied(name: &str) -> bool {
    DENIED.contains(name) || DENIED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns whether a native kernel may be compiled with this flag.
pub(crate) fn is_flag(flag: &str) -> bool {
    let silences = |rest: &str| rest.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    flag.strip_prefix("-Wno-").is_some_and(silences)
        || FLAGS.contains(flag)
        || flag.strip_prefix("-D").is_some_and(is_definition)
}

/// Returns whether a definition is `NAME=NUMBER`, `NAME=TYPE` or `NAME`.
fn is_definition(definition: &str) -> bool {
    let (name, value) = definition.split_once('=').unwrap_or((definition, ""));
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name && (TYPES.contains(value) || is_number(value))
}

/// Returns whether a macro's value is arithmetic on numbers.
fn is_number(value: &str) -> bool {
    let allowed = |c: char| c.is_ascii_digit() || " .-+()*/efxuL".contains(c);
    value.chars().all(allowed)
}

/// Returns whether a pragma is allowed: loops and warnings.
pub(super) fn is_pragma(pragma: &str) -> bool {
    let mut words = pragma.split([' ', '(']);
    match words.next() {
        Some("omp") => !pragma.contains("threadprivate") && !pragma.contains("declare reduction"),
        Some("unroll" | "nounroll" | "once" | "STDC") => true,
        Some("GCC") => matches!(words.next(), Some("ivdep" | "unroll" | "diagnostic")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_define_types_and_numbers() {
        assert!(is_flag("-Delement=float16") && is_flag("-DBLOCK=64") && is_flag("-O3"));
        for flag in ["-Delement=system", "-DH=<dlfcn.h>", "-DX(a)=a", "-include", "-O3 -include", "-D=1"] {
            assert!(!is_flag(flag), "{flag}");
        }
    }
}
