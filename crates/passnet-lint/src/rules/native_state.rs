use crate::rule::Violation;

/// ## What it does
///
/// Rejects variables that outlive a call in C++ and CUDA sources: globals, `static`, `thread_local` and `__device__`
/// variables, and `mutable` members, which can change even in constants. Numeric constants with written-out values
/// are allowed: `const int64_t BLOCK = 64;`, `static const float TABLE[2] = {0.5f, 2.0f};`,
/// `__constant__ float SCALE[1] = {2.0f};`.
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
