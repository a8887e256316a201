use crate::rule::Violation;

/// ## What it does
///
/// Limits the number of files, their size, and the depth of one statement.
///
/// ## Why
///
/// Every check must end quickly on any text. A hundred thousand nested brackets would exhaust the stack of any tool
/// that reads them.
///
/// ## Example
///
/// ```python
/// x = ((((((((((((  # ... two hundred more
/// ```
///
/// ## How to fix
///
/// Split the file, give names to intermediate results, and remove generated tables.
pub(crate) struct TooLarge {
    /// The measured quantity.
    pub(crate) subject: String,
    /// The largest value allowed, with its unit.
    pub(crate) limit: String,
}

impl Violation for TooLarge {
    const ID: &'static str = "PN102";
    const NAME: &'static str = "too-large";
    const SOURCE: &'static str = include_str!("too_large.rs");
    const HELP: &'static str = "split the file or the statement";

    fn message(&self) -> String {
        format!("{} exceeds the limit of {}", self.subject, self.limit)
    }
}
