use crate::rule::Violation;

/// ## What it does
///
/// Requires every name to be bound in the file, or to be one of the builtins on the list (`range`, `len`, `min`,
/// `max`, `tuple`, ...).
///
/// ## Why
///
/// `exec`, `eval`, `globals`, `vars`, `setattr`, `open`, `print` and similar builtins give access to the whole
/// interpreter. A pass needs none of them to launch a kernel. `getattr`, `hasattr`, `type` and `callable` are allowed where
/// the text shows what they ask (PN404).
///
/// ## Example
///
/// ```python
/// def fused(x):
///     return eval("torch.relu(x)")      # PN203
/// ```
///
/// ## How to fix
///
/// Call the function by its name. Raise an exception instead of printing.
pub(crate) struct UnknownName {
    /// The name.
    pub(crate) subject: String,
}

impl Violation for UnknownName {
    const ID: &'static str = "PN203";
    const NAME: &'static str = "unknown-name";
    const SOURCE: &'static str = include_str!("unknown_name.rs");
    const HELP: &'static str = "define or import the name; builtins that reflect, execute or print are not available";

    fn message(&self) -> String {
        format!("`{}` is neither defined here nor an allowed builtin{}", self.subject, advice(&self.subject))
    }
}

/// Returns advice for builtins that ordinary code often calls.
fn advice(name: &str) -> &'static str {
    match name {
        "slice" => "; write `x[start:end]`",
        "print" => "; raise an exception with the message",
        _ => "",
    }
}
