use crate::rule::Violation;

/// ## What it does
///
/// Rejects modules, builtins and functions of imported modules as values: in containers, as arguments, defaults or
/// results.
///
/// ## Why
///
/// If `torch` or `torch.add` is passed through a list or an argument, the text of a later call does not show which
/// function it calls.
///
/// ## Example
///
/// ```python
/// OPS = [torch]           # PN207
/// def fused(x, f=len):    # PN207
///     ...
/// ```
///
/// ## How to fix
///
/// Write the name of the function at the place of the call.
pub(crate) struct ModuleAsValue {
    /// Dotted name.
    pub(crate) subject: String,
}

impl Violation for ModuleAsValue {
    const ID: &'static str = "PN207";
    const NAME: &'static str = "module-as-value";
    const SOURCE: &'static str = include_str!("module_as_value.rs");
    const HELP: &'static str = "call it by its name";

    fn message(&self) -> String {
        format!("`{}` may be called by name, not passed around", self.subject)
    }
}
