use crate::rule::Violation;

/// ## What it does
///
/// Requires values at module level to be constants, kernels or functions: no tensors, no iterators, no stateful objects.
///
/// ## Why
///
/// A buffer that outlives the call can carry results from one call to the next. Later calls could then return these
/// results without computing them.
///
/// ## Example
///
/// ```python
/// SCRATCH = torch.empty(1 << 20)      # PN501
/// ```
///
/// ## How to fix
///
/// Allocate scratch memory inside the wrapper.
pub(crate) struct ModuleState {
    /// The value, with its article.
    pub(crate) subject: String,
}

impl Violation for ModuleState {
    const ID: &'static str = "PN501";
    const NAME: &'static str = "module-state";
    const SOURCE: &'static str = include_str!("module_state.rs");
    const HELP: &'static str = "allocate inside the wrapper; module level is for constants";

    fn message(&self) -> String {
        format!("{} at module level outlives the call", self.subject)
    }
}
