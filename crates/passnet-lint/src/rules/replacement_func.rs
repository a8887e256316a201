use crate::rule::Violation;

/// ## What it does
///
/// Requires `replacement_func` to be one `return` of the name of a wrapper that a file of this directory defines at
/// module level: a function, a lambda, a `functools.partial`, a static method, a class method, an instance of a class with `__call__`
/// (of a `torch.nn.Module` with `forward`), or a method of an instance. An instance must hold settings and kernels only. `large if IS_HOPPER else small` chooses one of two functions by a
/// constant of the module.
///
/// ## Why
///
/// If the result were a library function, the library would do the work. A function that is created at run time could
/// carry state from call to call.
///
/// ## Example
///
/// ```python
/// def replacement_func():
///     return torch.nn.functional.gelu      # PN304
/// ```
///
/// ## How to fix
///
/// Define the wrapper with `def`, or give the object a name at module level, and return the name.
pub(crate) struct ReplacementFunc {
    /// The returned expression.
    pub(crate) subject: String,
}

impl Violation for ReplacementFunc {
    const ID: &'static str = "PN304";
    const NAME: &'static str = "replacement-func";
    const SOURCE: &'static str = include_str!("replacement_func.rs");
    const HELP: &'static str = "define the wrapper at module level, e.g. with `def`, and return its name";

    fn message(&self) -> String {
        format!("replacement_func has to return a wrapper defined in this directory, not {}", self.subject)
    }
}
