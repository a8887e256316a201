use crate::rule::Violation;

/// ## What it does
///
/// Requires a name at module level to be bound once. A variable of a comprehension must not hide a name from outside.
///
/// ## Why
///
/// If a name has one binding, a reader and this checker know its meaning at every place. If it has two, its meaning
/// depends on the time at which the code runs.
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
