use crate::lint::rule::Violation;

/// ## What it does
///
/// Allows on numbers, strings, containers, kernels and functions only the attributes and methods on the list.
///
/// ## Why
///
/// Attributes of functions and kernels keep state and reach their insides (`kernel.fn`, `f.cache`); `str.format`
/// reads attributes by text.
///
/// ## Example
///
/// ```python
/// def fused(x):
///     return kernel.cache      # PN405
/// ```
///
/// ## How to mend
///
/// Use f-strings for messages; launch kernels with `kernel[grid](...)`.
pub(in crate::lint) struct UnknownAttribute {
    /// The attribute.
    pub(in crate::lint) subject: String,
    /// What it was asked of, with its article.
    pub(in crate::lint) owner: String,
}

impl Violation for UnknownAttribute {
    const ID: &'static str = "PN405";
    const NAME: &'static str = "unknown-attribute";
    const SOURCE: &'static str = include_str!("unknown_attribute.rs");
    const HELP: &'static str = "use only data: sizes, strings, lists, dictionaries";

    fn message(&self) -> String {
        format!("attribute `.{}` is not available on {}", self.subject, self.owner)
    }
}
