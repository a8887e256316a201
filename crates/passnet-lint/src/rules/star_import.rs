use crate::rule::Violation;

/// ## What it does
///
/// Rejects `from module import *`.
///
/// ## Why
///
/// The imported names are not in the text, so neither a reader nor a checker knows the meaning of a later name.
///
/// ## Example
///
/// ```python
/// from torch import *      # PN202
/// ```
///
/// ## How to fix
///
/// Import the names that are used, or the module.
pub(crate) struct StarImport {
    /// The module.
    pub(crate) subject: String,
}

impl Violation for StarImport {
    const ID: &'static str = "PN202";
    const NAME: &'static str = "star-import";
    const SOURCE: &'static str = include_str!("star_import.rs");
    const HELP: &'static str = "import the names that are used";

    fn message(&self) -> String {
        format!("`from {} import *` hides which names it brings", self.subject)
    }
}
