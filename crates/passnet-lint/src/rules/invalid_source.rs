use crate::rule::Violation;

/// ## What it does
///
/// Requires every file to be UTF-8 text that parses as Python.
///
/// ## Why
///
/// A file that cannot be parsed cannot be checked, and fails on import.
///
/// ## Example
///
/// ```python
/// def pattern(x:       # PN103
///     return x
/// ```
///
/// ## How to fix
///
/// Fix the syntax error at the place that the finding names.
pub(crate) struct InvalidSource {
    /// The problem.
    pub(crate) subject: String,
}

impl Violation for InvalidSource {
    const ID: &'static str = "PN103";
    const NAME: &'static str = "invalid-source";
    const SOURCE: &'static str = include_str!("invalid_source.rs");
    const HELP: &'static str = "the file has to parse as Python 3.10 or newer";

    fn message(&self) -> String {
        self.subject.clone()
    }
}
