use crate::rule::Violation;

/// ## What it does
///
/// Rejects a name that is read although the checker finds no assignment of a known value to it.
///
/// ## Why
///
/// The checker knows nothing about such a value, so no other rule can check its uses.
///
/// ## Example
///
/// ```python
/// def fused(x):
///     for part in []:
///         part.fill_(0)      # PN406
///     return x
/// ```
///
/// ## How to fix
///
/// Remove code that never runs, or fill the list before the loop.
pub(crate) struct UnassignedName {
    /// The name.
    pub(crate) subject: String,
}

impl Violation for UnassignedName {
    const ID: &'static str = "PN406";
    const NAME: &'static str = "unassigned-name";
    const SOURCE: &'static str = include_str!("unassigned_name.rs");
    const HELP: &'static str = "assign a value before it is read, or remove the code that reads it";

    fn message(&self) -> String {
        format!("no value ever reaches `{}`", self.subject)
    }
}
