use crate::rule::Violation;

/// ## What it does
///
/// Requires a name at module level to be bound once, and comprehension variables not to hide a name from outside.
///
/// ## Why
///
/// With one binding per name a reader (and this checker) knows what the name means wherever it stands; with two, it
/// depends on when the code runs.
///
/// ## Example
///
/// ```python
/// import triton
/// triton = 3      # PN205
/// ```
///
/// ## How to fix
///
/// Give the second value another name.
pub(crate) struct ReboundName {
    /// The name.
    pub(crate) subject: String,
}

impl Violation for ReboundName {
    const ID: &'static str = "PN205";
    const NAME: &'static str = "rebound-name";
    const SOURCE: &'static str = include_str!("rebound_name.rs");
    const HELP: &'static str = "give each value a name of its own";

    fn message(&self) -> String {
        format!("`{}` is bound more than once", self.subject)
    }
}
