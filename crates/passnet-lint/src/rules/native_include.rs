use crate::rule::Violation;

/// ## What it does
///
/// Allows a fixed list of headers in C++ and CUDA sources: the standard library without streams, files and threads, SIMD intrinsics,
/// half types. Also allows the directives for macros and conditions, and in C++ the pragmas `omp`, `unroll`, `GCC ivdep`, `GCC unroll` and
/// `GCC diagnostic`.
///
/// ## Why
///
/// A directive such as `#include "/etc/passwd"` reads files while the kernel is compiled, which the compiled code does not show. Headers
/// of streams add variables that outlive a call.
///
/// ## Example
///
/// ```cpp
/// #include <dlfcn.h>      // PN702
/// ```
///
/// ## How to fix
///
/// Include `<cmath>`, `<cstdint>`, `<algorithm>`, `<vector>`, `<immintrin.h>` and similar headers.
pub(crate) struct NativeInclude {
    /// The directive.
    pub(crate) subject: String,
}

impl Violation for NativeInclude {
    const ID: &'static str = "PN702";
    const NAME: &'static str = "native-include";
    const SOURCE: &'static str = include_str!("native_include.rs");
    const HELP: &'static str =
        "include only headers of the standard library, without streams, files and threads, and of intrinsics";

    fn message(&self) -> String {
        format!("`{}` is not allowed in a native kernel{}", self.subject, advice(&self.subject))
    }
}

/// Returns what to write instead of directives that ordinary code often has.
fn advice(directive: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| directive.contains(word));
    if directive.contains("pragma") {
        return "; leave it out, because C++ is compiled with `-O3 -march=native`";
    }
    if has(&["torch/", "ATen/", "pybind11", "Python.h", "c10/"]) {
        return "; a kernel gets pointers and sizes, and the wrapper allocates";
    }
    if has(&["<thread>", "<mutex>", "<future>", "<execution>", "<condition_variable>"]) {
        return "; for threads, write `parallel int64_t begin, int64_t end` in the signature, or `#pragma omp`";
    }
    if has(&["<iostream>", "<fstream>", "<sstream>", "<chrono>"]) {
        return "; a kernel neither prints nor reads files and clocks";
    }
    ""
}
