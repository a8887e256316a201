use crate::rule::Violation;

/// ## What it does
///
/// Allows in `pattern` straight-line code of traceable operations: PyTorch operators, tensor methods, arithmetic,
/// literals, and calls of functions of the directory that obey this rule as well. Only patterns can call such functions.
///
/// ## Why
///
/// `pattern` is traced, and defines the operations to look for. All other code would run in the worker during
/// tracing.
///
/// ## Example
///
/// ```python
/// def pattern(x):
///     torch.save(x, "inputs")      # PN302
///     return torch.relu(x)
/// ```
///
/// ## How to fix
///
/// Write only the operations of the graph, in the same form as in the graph.
pub(crate) struct Pattern {
    /// The text at that place.
    pub(crate) subject: String,
}

impl Violation for Pattern {
    const ID: &'static str = "PN302";
    const NAME: &'static str = "pattern";
    const SOURCE: &'static str = include_str!("pattern.rs");
    const HELP: &'static str = "write only the operations that the graph contains";

    fn message(&self) -> String {
        format!("{} is not a traceable operation", self.subject)
    }
}
