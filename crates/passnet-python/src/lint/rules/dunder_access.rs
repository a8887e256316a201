use crate::lint::rule::Violation;

/// ## What it does
///
/// Rejects names and attributes that begin with two underscores.
///
/// ## Why
///
/// `__class__`, `__globals__`, `__dict__`, `__import__` and their kin lead from any value to the whole interpreter.
///
/// ## Example
///
/// ```python
/// def fused(x):
///     return x.__class__.matmul(x, x)      # PN204
/// ```
///
/// ## How to mend
///
/// Use the public operation, inside a kernel.
pub(in crate::lint) struct DunderAccess {
    /// The name.
    pub(in crate::lint) subject: String,
}

impl Violation for DunderAccess {
    const ID: &'static str = "PN204";
    const NAME: &'static str = "dunder-access";
    const SOURCE: &'static str = include_str!("dunder_access.rs");
    const HELP: &'static str = "names that begin with two underscores are not available in a pass";

    fn message(&self) -> String {
        format!("`{}` reaches into the interpreter", self.subject)
    }
}
