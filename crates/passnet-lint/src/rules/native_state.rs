use crate::rule::Violation;

/// ## What it does
///
/// Rejects variables that outlive a call in C++ and CUDA sources: `static`, `thread_local`, `__managed__` and `__device__` variables that
/// can be written. Constants are allowed: `static const float TABLE[2] = {0.5f, 2.0f};`, `constexpr int64_t BLOCK = 64;`,
/// `__constant__ float SCALE[1] = {2.0f};`.
///
/// Other variables, such as globals without `static` or `mutable` members, are found in the compiled code:
/// [native kernels](native-kernels.md#rules).
///
/// ## Why
///
/// Such variables can carry results from one call to the next.
///
/// ## Example
///
/// ```cpp
/// static float last[1024];      // PN704
/// ```
///
/// ## How to fix
///
/// Use local variables and scratch tensors from the wrapper. Tables of constants are allowed.
pub(crate) struct NativeState {
    /// The declaration.
    pub(crate) subject: String,
}

impl Violation for NativeState {
    const ID: &'static str = "PN704";
    const NAME: &'static str = "native-state";
    const SOURCE: &'static str = include_str!("native_state.rs");
    const HELP: &'static str =
        "use local variables, constants with written-out values, and scratch tensors from the wrapper";

    fn message(&self) -> String {
        format!("`{}` outlives the call", self.subject)
    }
}
