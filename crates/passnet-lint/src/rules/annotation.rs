use crate::rule::Violation;

/// ## What it does
///
/// Allows annotations made of names, dots, subscripts, `|` and `None`.
///
/// ## Why
///
/// Python evaluates annotations when a function is defined, and some tools evaluate annotation strings later.
/// Annotations can therefore hide code.
///
/// ## Example
///
/// ```python
/// def fused(x: exec("...")):      # PN211
///     ...
/// ```
///
/// ## How to fix
///
/// Write the type (`torch.Tensor`, `int`, `tl.constexpr`) or no annotation.
pub(crate) struct Annotation;

impl Violation for Annotation {
    const ID: &'static str = "PN211";
    const NAME: &'static str = "annotation";
    const SOURCE: &'static str = include_str!("annotation.rs");
    const HELP: &'static str = "write a type such as torch.Tensor, int or tl.constexpr";

    fn message(&self) -> String {
        "this annotation is more than a type".to_owned()
    }
}
