use crate::rule::Violation;

/// ## What it does
///
/// Rejects statements and expressions that a pass does not need: classes, `async`, `global`, `nonlocal`, `del`,
/// `match`, generators, imports inside functions, and anything but imports, definitions and constants at module
/// level. The body of `if __name__ == "__main__":` (without `else`) is not checked, because it does not run when a
/// pass is imported.
///
/// ## Why
///
/// Such code can keep state, run at an unexpected time, or give a name several meanings.
///
/// ## Example
///
/// ```python
/// class Cache:              # PN209
///     last = None
/// ```
///
/// ## How to fix
///
/// Use plain functions. Put imports at the top of the file.
pub(crate) struct StatementNotAllowed {
    /// The construct, with its article.
    pub(crate) subject: String,
}

impl Violation for StatementNotAllowed {
    const ID: &'static str = "PN209";
    const NAME: &'static str = "statement-not-allowed";
    const SOURCE: &'static str = include_str!("statement_not_allowed.rs");
    const HELP: &'static str = "a pass consists of imports, constants and functions";

    fn message(&self) -> String {
        format!("{} is not part of the pass language", self.subject)
    }
}
