use crate::rule::Violation;

/// ## What it does
///
/// Rejects names and attributes that begin with two underscores. A list of names may be assigned to `__all__`, and to `__slots__`
/// in a class; a module may assign to `__author__`, `__version__` and the like.
///
/// ## Why
///
/// `__class__`, `__globals__`, `__dict__`, `__import__` and similar names lead from any value to the whole interpreter.
///
/// ## Example
///
/// ```python
/// def fused(x):
///     return x.__class__.matmul(x, x)      # PN204
/// ```
///
/// ## How to fix
///
/// Use the public operation, inside a kernel.
pub(crate) struct DunderAccess {
    /// The name.
    pub(crate) subject: String,
}

impl Violation for DunderAccess {
    const ID: &'static str = "PN204";
    const NAME: &'static str = "dunder-access";
    const SOURCE: &'static str = include_str!("dunder_access.rs");
    const HELP: &'static str =
        "names that begin with two underscores are not available in a pass, except `__all__ = [\"name\", ...]`";

    fn message(&self) -> String {
        match self.subject.as_str() {
            "__all__" => "`__all__` is not assigned a list of names in quotes".to_owned(),
            name => format!("`{name}` reaches into the interpreter"),
        }
    }
}
