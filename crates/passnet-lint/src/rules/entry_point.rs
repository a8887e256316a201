use crate::rule::Violation;

/// ## What it does
///
/// Requires every pass named in the order file to define the functions `pattern`, `replacement_args` and
/// `replacement_func` at module level, undecorated. A lambda that is assigned to one of these names is such a function.
///
/// ## Why
///
/// The evaluator calls these three functions by name. Each function has its own rules, so the checker must be able to
/// read the text of each definition.
///
/// ## Example
///
/// ```python
/// pattern = make_pattern()      # PN301
/// ```
///
/// ## How to fix
///
/// Write `def pattern(...)`, `def replacement_args(...)`, `def replacement_func()`.
pub(crate) struct EntryPoint {
    /// The problem.
    pub(crate) subject: String,
}

impl Violation for EntryPoint {
    const ID: &'static str = "PN301";
    const NAME: &'static str = "entry-point";
    const SOURCE: &'static str = include_str!("entry_point.rs");
    const HELP: &'static str = "a pass defines pattern, replacement_args and replacement_func as plain functions";

    fn message(&self) -> String {
        self.subject.clone()
    }
}
