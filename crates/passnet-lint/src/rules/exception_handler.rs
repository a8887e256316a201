use crate::rule::Violation;

/// ## What it does
///
/// Rejects `try`.
///
/// ## Why
///
/// A handler makes a forbidden operation look like a fallback: try the library, and when it is intercepted, run the
/// kernel. It also hides which path was measured.
///
/// ## Example
///
/// ```python
/// def fused(x):
///     try:                     # PN210
///         return torch.relu(x)
///     except RuntimeError:
///         return launch(x)
/// ```
///
/// ## How to fix
///
/// Test what is known in advance (dtype, shape, device) with `if`; let errors surface.
pub(crate) struct ExceptionHandler;

impl Violation for ExceptionHandler {
    const ID: &'static str = "PN210";
    const NAME: &'static str = "exception-handler";
    const SOURCE: &'static str = include_str!("exception_handler.rs");
    const HELP: &'static str = "test dtype, shape or device with `if` instead";

    fn message(&self) -> String {
        "a pass may not catch exceptions".to_owned()
    }
}
