use crate::rule::Violation;

/// ## What it does
///
/// Requires `replacement_args` to be one `return` of its parameters and literals, such as `1e-5`, `2 * 512` and `float("inf")`.
///
/// ## Why
///
/// The result becomes the arguments of the replacement in the graph. An operation in `replacement_args` becomes a
/// node of the graph. This node runs outside the replacement, where the referee does not intercept it.
///
/// ## Example
///
/// ```python
/// def replacement_args(x, y):
///     return (x, torch.matmul(x, y))      # PN303
/// ```
///
/// ## How to fix
///
/// Return the placeholders that the replacement needs, e.g. `return (x, y, "gelu")`.
pub(crate) struct ReplacementArgs {
    /// The text at that place.
    pub(crate) subject: String,
}

impl Violation for ReplacementArgs {
    const ID: &'static str = "PN303";
    const NAME: &'static str = "replacement-args";
    const SOURCE: &'static str = include_str!("replacement_args.rs");
    const HELP: &'static str = "return the parameters; compute in the replacement's kernels";

    fn message(&self) -> String {
        format!("replacement_args may only pass on its parameters and literals, not {}", self.subject)
    }
}
