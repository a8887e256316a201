use crate::rule::Violation;

/// ## What it does
///
/// Allows the decorators `triton.jit`, `triton.autotune`, `triton.heuristics`, `passnet.kernels.triton`,
/// `passnet.kernels.prepared` and `torch.fx.wrap`.
///
/// ## Why
///
/// A decorator replaces the function in the source by another one: `torch.compile` compiles it, and `functools.cache`
/// stores its results.
///
/// ## Example
///
/// ```python
/// @torch.compile           # PN208
/// def fused(x):
///     ...
/// ```
///
/// ## How to fix
///
/// Remove the decorator.
pub(crate) struct DecoratorNotAllowed {
    /// The decorator as written.
    pub(crate) subject: String,
}

impl Violation for DecoratorNotAllowed {
    const ID: &'static str = "PN208";
    const NAME: &'static str = "decorator-not-allowed";
    const SOURCE: &'static str = include_str!("decorator_not_allowed.rs");
    const HELP: &'static str = "allowed are triton.jit, triton.autotune, triton.heuristics, passnet.kernels.triton on kernels, passnet.kernels.prepared and \
         torch.fx.wrap on wrappers";

    fn message(&self) -> String {
        format!("decorator `{}` is not allowed", self.subject)
    }
}
