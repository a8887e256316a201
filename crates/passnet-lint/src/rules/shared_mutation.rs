use crate::rule::Violation;

/// ## What it does
///
/// Rejects changes of objects that the running call did not itself create: module-level containers, defaults,
/// parameters, attributes.
///
/// ## Why
///
/// The next call can read all values that a call has stored: counters that distinguish warm-up from measurement,
/// caches of earlier results.
///
/// ## Example
///
/// ```python
/// SEEN = {}
/// def fused(x):
///     SEEN[x.data_ptr()] = 1      # PN502
/// ```
///
/// ## How to fix
///
/// Build lists and dictionaries inside the function that fills them.
pub(crate) struct SharedMutation {
    /// The construct.
    pub(crate) subject: String,
}

impl Violation for SharedMutation {
    const ID: &'static str = "PN502";
    const NAME: &'static str = "shared-mutation";
    const SOURCE: &'static str = include_str!("shared_mutation.rs");
    const HELP: &'static str = "only containers made in the same function can be changed; for values that depend on sizes alone, put `functools.lru_cache` on a function";

    fn message(&self) -> String {
        format!("{} changes a value that outlives the call", self.subject)
    }
}
