use crate::rule::Violation;

/// ## What it does
///
/// Allows a fixed list of headers and preprocessor directives in C++ and CUDA sources: mathematics, integers,
/// algorithms, vectors, SIMD intrinsics, half types. Macros are expanded before the checker reads the code. Inside of `#if`, a macro may only
/// be a number.
///
/// ## Why
///
/// Other headers give access to files, processes, threads, or PyTorch's own operators (`ATen`, `torch/extension.h`).
///
/// ## Example
///
/// ```cpp
/// #include <dlfcn.h>      // PN702
/// ```
///
/// ## How to fix
///
/// Include only `<cmath>`, `<cstdint>`, `<algorithm>`, `<vector>`, `<immintrin.h>` and similar headers.
pub(crate) struct NativeInclude {
    /// The directive.
    pub(crate) subject: String,
}

impl Violation for NativeInclude {
    const ID: &'static str = "PN702";
    const NAME: &'static str = "native-include";
    const SOURCE: &'static str = include_str!("native_include.rs");
    const HELP: &'static str = "include only mathematics, integer, algorithm, container and SIMD headers; define numbers, or other macros once and outside of #if";

    fn message(&self) -> String {
        format!("`{}` is not allowed in a native kernel", self.subject)
    }
}
