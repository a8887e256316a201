//! Functions of libraries that a kernel may call.

/// The library that defines a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuntimeLibrary {
    /// Copies, fills and compares memory: `libc.so.6`.
    C,
    /// Mathematics: `libm.so.6`.
    Math,
    /// Mathematics on vectors: `libmvec.so.1`.
    VectorMath,
    /// Memory of containers, such as `operator new`. The loader provides these functions itself.
    Memory,
    /// Threads: `libgomp.so.1`.
    OpenMp,
    /// Arithmetic on wide integers: `libgcc_s.so.1`.
    Compiler,
}

const C: &[&str] = &["bcmp", "memchr", "memcmp", "memcpy", "memmove", "memset"];

/// Functions of `libm` in their `double` form; the `float` and `long double` forms end in `f` and `l`. `lgamma` is not in the list
/// because it writes the global variable `signgam`.
const MATH: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "hypot",
    "ilogb",
    "ldexp",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "modf",
    "nearbyint",
    "nextafter",
    "pow",
    "remainder",
    "rint",
    "round",
    "roundeven",
    "scalbln",
    "scalbn",
    "sin",
    "sincos",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
];

/// `operator new`, `operator delete`, the same in C, and the functions that containers call to report a wrong length.
const MEMORY: &[&str] = &[
    "malloc",
    "calloc",
    "aligned_alloc",
    "free",
    "_Znwm",
    "_Znam",
    "_ZnwmSt11align_val_t",
    "_ZdlPv",
    "_ZdlPvm",
    "_ZdaPv",
    "_ZdaPvm",
    "_ZdlPvSt11align_val_t",
    "_ZdlPvmSt11align_val_t",
    "_ZSt20__throw_length_errorPKc",
    "_ZSt17__throw_bad_allocv",
    "_ZSt28__throw_bad_array_new_lengthv",
    "_ZSt24__throw_out_of_range_fmtPKcz",
];

const OPENMP: &[&str] = &[
    "GOMP_atomic_end",
    "GOMP_atomic_start",
    "GOMP_barrier",
    "GOMP_critical_end",
    "GOMP_critical_start",
    "GOMP_loop_dynamic_next",
    "GOMP_loop_dynamic_start",
    "GOMP_loop_end",
    "GOMP_loop_end_nowait",
    "GOMP_loop_guided_next",
    "GOMP_loop_guided_start",
    "GOMP_loop_nonmonotonic_dynamic_next",
    "GOMP_loop_nonmonotonic_dynamic_start",
    "GOMP_loop_nonmonotonic_guided_next",
    "GOMP_loop_nonmonotonic_guided_start",
    "GOMP_parallel",
    "GOMP_single_start",
    "omp_get_max_threads",
    "omp_get_num_procs",
    "omp_get_num_threads",
    "omp_get_thread_num",
    "omp_in_parallel",
];

const COMPILER: &[&str] = &[
    "__divdc3",
    "__divsc3",
    "__divti3",
    "__fixdfti",
    "__fixsfti",
    "__fixunsdfti",
    "__fixunssfti",
    "__floattidf",
    "__floattisf",
    "__floatuntidf",
    "__floatuntisf",
    "__modti3",
    "__muldc3",
    "__muloti4",
    "__mulsc3",
    "__multi3",
    "__udivmodti4",
    "__udivti3",
    "__umodti3",
];

/// Returns the library of a function; `None` if kernels may not call the function.
pub(crate) fn library_of(name: &str) -> Option<RuntimeLibrary> {
    if C.contains(&name) {
        return Some(RuntimeLibrary::C);
    }
    if MEMORY.contains(&name) {
        return Some(RuntimeLibrary::Memory);
    }
    if OPENMP.contains(&name) {
        return Some(RuntimeLibrary::OpenMp);
    }
    if COMPILER.contains(&name) {
        return Some(RuntimeLibrary::Compiler);
    }
    if is_math(name) {
        return Some(RuntimeLibrary::Math);
    }
    // `_ZGVeN16v_expf`: instruction set, mask, lanes, parameters.
    let vector = name.strip_prefix("_ZGV").and_then(|rest| rest.split_once('_'));
    vector.filter(|(shape, name)| shape.ends_with('v') && is_math(name)).map(|_| RuntimeLibrary::VectorMath)
}

/// Returns whether a library function calls its first argument, which is then a function of the kernel.
pub(crate) fn takes_function(name: &str) -> bool {
    name == "GOMP_parallel"
}

fn is_math(name: &str) -> bool {
    // With `-ffast-math` GCC calls variants that ignore errors: `__expf_finite`.
    let name = name.strip_prefix("__").and_then(|name| name.strip_suffix("_finite")).unwrap_or(name);
    MATH.contains(&name) || name.strip_suffix(['f', 'l']).is_some_and(|name| MATH.contains(&name))
}

/// Returns advice on what to write instead of a function that is not on the list.
pub(crate) fn advice(name: &str) -> &'static str {
    match name {
        _ if name.starts_with("lgamma") || name.contains("gamma_r") => {
            "it writes the global variable `signgam`; compute the logarithm from `tgamma`, or by a series of your own"
        }
        "_ZSt7nothrow" => {
            "`std::stable_sort`, `std::inplace_merge` and `std::stable_partition` use it; call `std::sort` with a comparison \
             that decides ties, or keep the values in a second `std::vector`"
        }
        _ if name.contains("_Rb_tree") || name.contains("_Prime_rehash") => {
            "`std::map`, `std::set` and hash tables use code of the C++ library; use a sorted `std::vector` and `std::lower_bound`"
        }
        _ if name.contains("basic_string") => {
            "`std::string` uses code of the C++ library; use numbers or arrays of characters"
        }
        "__tls_get_addr" => "thread-local variables outlive the call; keep values in locals",
        "_GLOBAL_OFFSET_TABLE_" | "__dso_handle" => {
            "addresses of the loader are of no use to a kernel; take no address of a function or a variable of a library"
        }
        _ if name.starts_with("__cxa") || name.starts_with("_Unwind") || name.starts_with("__gxx") => {
            "exceptions and variables with initialisers are not supported; return early, and use constants or locals"
        }
        _ if name.starts_with("__stack_chk") || name.ends_with("_chk") => {
            "it belongs to hardening of the compiler that kernels are built without; remove the flag"
        }
        _ if name.starts_with("omp_") || name.starts_with("GOMP_") => {
            "use `#pragma omp parallel for`, `omp_get_thread_num` and `omp_get_num_threads`"
        }
        _ if name.starts_with("Py") || name.starts_with("_Py") => "a kernel computes in C++, without Python",
        _ => "a kernel may call functions of mathematics, memcpy, memmove and memset, and functions that it defines",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mathematics_is_listed_in_every_precision() {
        for name in ["exp", "expf", "expl", "sincosf", "erff", "__expf_finite"] {
            assert_eq!(library_of(name), Some(RuntimeLibrary::Math), "{name}");
        }
        assert_eq!(library_of("_ZGVeN16v_expf"), Some(RuntimeLibrary::VectorMath));
        for name in ["lgamma", "lgammaf", "lgamma_r", "system", "clock_gettime", "dlsym", "_ZGVeN16v_system", "f", ""] {
            assert_eq!(library_of(name), None, "{name}");
        }
    }
}
