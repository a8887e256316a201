use crate::rule::Violation;

/// ## What it does
///
/// Rejects functions and lambdas that are defined inside a function and leave it, because they are returned or stored
/// in a container.
///
/// ## Why
///
/// A closure that outlives the call keeps the variables of the call alive, and can serve as a cache.
///
/// ## Example
///
/// ```python
/// def make():
///     seen = []
///     def fused(x):
///         ...
///     return fused      # PN503
/// ```
///
/// ## How to fix
///
/// Define the function at module level. Lambdas are allowed as launch grids.
pub(crate) struct EscapingClosure;

impl Violation for EscapingClosure {
    const ID: &'static str = "PN503";
    const NAME: &'static str = "escaping-closure";
    const SOURCE: &'static str = include_str!("escaping_closure.rs");
    const HELP: &'static str = "define the function at module level";

    fn message(&self) -> String {
        "a function defined inside a call may not leave it".to_owned()
    }
}
