use crate::rule::Violation;

/// ## What it does
///
/// Bounds the number of files, their size, and how deeply one statement nests.
///
/// ## Why
///
/// Every check has to end quickly on any text; a tree of a hundred thousand brackets would exhaust the
/// stack of any tool that reads it.
///
/// ## Example
///
/// ```python
/// x = ((((((((((((  # ... two hundred more
/// ```
///
/// ## How to fix
///
/// Split the file, name intermediate results, drop generated tables.
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
