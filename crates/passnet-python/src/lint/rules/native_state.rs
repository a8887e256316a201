use crate::lint::rule::Violation;

/// ## What it does
///
/// Rejects variables that outlive a call in C++ and CUDA sources: globals, `static`, `thread_local`, `__device__`
/// variables.
///
/// ## Why
///
/// They can carry results from one call to the next.
///
/// ## Example
///
/// ```cpp
/// static float last[1024];      // PN704
/// ```
///
/// ## How to mend
///
/// Use local variables and scratch tensors from the wrapper; `constexpr` tables are fine.
pub(in crate::lint) struct NativeState {
    /// The declaration.
    pub(in crate::lint) subject: String,
}

impl Violation for NativeState {
    const ID: &'static str = "PN704";
    const NAME: &'static str = "native-state";
    const SOURCE: &'static str = include_str!("native_state.rs");
    const HELP: &'static str = "use locals, constexpr tables and scratch tensors";

    fn message(&self) -> String {
        format!("`{}` outlives the call", self.subject)
    }
}
