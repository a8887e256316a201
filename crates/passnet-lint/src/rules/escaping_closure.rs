use crate::rule::Violation;

/// ## What it does
///
/// Rejects functions and lambdas, defined inside a function, that leave it: returned or stored in a container.
///
/// ## Why
///
/// A closure that survives the call keeps the call's variables alive: a cache with another name.
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
/// Define the function at module level. Lambdas as launch grids are fine.
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
