use crate::rule::Violation;

/// ## What it does
///
/// Allows on numbers, strings, containers, kernels and functions only the attributes and methods on the list.
///
/// ## Why
///
/// Attributes of functions and kernels can keep state and give access to internal objects (`kernel.fn`, `f.cache`).
/// `str.format` reads attributes whose names are in a string.
///
/// ## Example
///
/// ```python
/// def fused(x):
///     return kernel.cache      # PN405
/// ```
///
/// ## How to fix
///
/// Use f-strings for messages; launch kernels with `kernel[grid](...)`.
pub(crate) struct UnknownAttribute {
    /// The attribute.
    pub(crate) subject: String,
    /// The value from which it was read, with an article.
    pub(crate) owner: String,
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
