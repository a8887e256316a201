use crate::rule::Violation;

/// ## What it does
///
/// Rejects functions and lambdas that are defined inside a function, leave it (because they are returned or stored in a
/// container), and keep a tensor or an iterator of that function alive. Numbers, strings, kernels and other functions
/// may be kept: no function can change them.
///
/// ## Why
///
/// A closure that outlives the call keeps the variables of the call alive, and can serve as a cache.
///
/// ## Example
///
/// ```python
/// def make():
///     buffer = torch.empty(1024)
///     def fused(x):
///         return buffer
///     return fused      # PN503
/// ```
///
/// ## How to fix
///
/// Allocate inside the function that uses the tensor.
pub(crate) struct EscapingClosure;

impl Violation for EscapingClosure {
    const ID: &'static str = "PN503";
    const NAME: &'static str = "escaping-closure";
    const SOURCE: &'static str = include_str!("escaping_closure.rs");
    const HELP: &'static str = "allocate inside the function that uses the tensor";

    fn message(&self) -> String {
        "a function that keeps a tensor or an iterator of a call may not leave the call".to_owned()
    }
}
