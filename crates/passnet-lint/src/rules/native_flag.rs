use crate::rule::Violation;

/// ## What it does
///
/// Allows compiler flags for native kernels from a list: optimisation, floating-point modes, instruction sets,
/// OpenMP.
///
/// ## Why
///
/// `-include`, `-I`, `-l`, `-fplugin` and similar flags add files that are not checked.
///
/// ## Example
///
/// ```python
/// f = kernels.cpp(SOURCE, SIGNATURE, flags=["-include/etc/passwd"])      # PN705
/// ```
///
/// ## How to fix
///
/// Pass flags such as `-O3`, `-ffast-math`, `-fopenmp`, `-mavx2` as literals.
pub(crate) struct NativeFlag {
    /// The flag as written.
    pub(crate) subject: String,
}

impl Violation for NativeFlag {
    const ID: &'static str = "PN705";
    const NAME: &'static str = "native-flag";
    const SOURCE: &'static str = include_str!("native_flag.rs");
    const HELP: &'static str = "allowed are -O1 to -O3, -ffast-math and its parts, -funroll-loops, -fopenmp, -march=native, -mavx2, -std=c++20 and the like";

    fn message(&self) -> String {
        format!("the compiler flag {} is not allowed", self.subject)
    }
}
