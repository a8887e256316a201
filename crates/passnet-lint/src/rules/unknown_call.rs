use crate::rule::Violation;

/// ## What it does
///
/// Requires that the checker knows the target of every call and operation in a wrapper: a function of the directory,
/// a launch, an allowed function or method.
///
/// `getattr(x, "name")` is the attribute `x.name`, and all rules treat it so. The name must be a literal. `hasattr` is allowed for
/// modules and names that a pass may use: only the installed version decides. `type(n) is int` and the like compare types of
/// plain values, and `type(n).__name__` of a plain value may stand in a message. The exact type of a tensor may not be
/// asked for: test with `isinstance(x, torch.Tensor)`. `functools.partial` takes functions of the directory, and values that
/// do not change.
///
/// `triton.set_allocator` takes one function in a directory, which uses its arguments only, because it stays set after the call. A
/// `TensorDescriptor` can be passed to a kernel; nothing else is known of it.
///
/// ## Why
///
/// A call of a value of unknown origin could call any function.
///
/// ## Example
///
/// ```python
/// def fused(x, f):
///     return f(x)      # PN404
/// ```
///
/// ## How to fix
///
/// Call functions by name. If a value is chosen among several values, all of them must be of one kind (all kernels,
/// or all functions).
pub(crate) struct UnknownCall {
    /// The expression.
    pub(crate) subject: String,
}

impl Violation for UnknownCall {
    const ID: &'static str = "PN404";
    const NAME: &'static str = "unknown-call";
    const SOURCE: &'static str = include_str!("unknown_call.rs");
    const HELP: &'static str = "call kernels, functions of this directory and allowed functions by name";

    fn message(&self) -> String {
        format!("{} cannot be followed here", self.subject)
    }
}
