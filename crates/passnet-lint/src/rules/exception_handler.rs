use crate::rule::Violation;

/// ## What it does
///
/// Rejects `try`, except at module level around imports, if the handlers only assign constants, raise an exception, or import the same
/// functions of libdevice from another place.
///
/// ## Why
///
/// A handler can disguise a forbidden operation: the pass tries the library first, and runs its kernel only if the
/// referee intercepts the library. A handler also hides which path was measured.
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
/// Test properties that are known in advance (dtype, shape, device) with `if`. Do not catch errors.
pub(crate) struct ExceptionHandler;

impl Violation for ExceptionHandler {
    const ID: &'static str = "PN210";
    const NAME: &'static str = "exception-handler";
    const SOURCE: &'static str = include_str!("exception_handler.rs");
    const HELP: &'static str = "test dtype, shape or device with `if` instead";

    fn message(&self) -> String {
        "a pass may not catch exceptions; around imports, handlers may assign constants or raise".to_owned()
    }
}
