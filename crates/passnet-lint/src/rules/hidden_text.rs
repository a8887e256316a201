use crate::rule::Violation;

/// ## What it does
///
/// Rejects text that reads differently to a person, to this checker and to Python: identifiers outside ASCII,
/// control and bidirectional characters, a byte-order mark, and an encoding declaration other than UTF-8.
///
/// ## Why
///
/// Python replaces look-alike letters in names (NFKC), so that `ｅval` is `eval`. An encoding declaration such as
/// `utf-7` turns a comment into code. Bidirectional marks change the order of the displayed text.
///
/// ## Example
///
/// ```python
/// # -*- coding: utf-7 -*-      # PN104
/// tｏrch.compile               # PN104: the o is U+FF4F
/// ```
///
/// ## How to fix
///
/// Write names in ASCII, remove the declaration, and write unusual characters in strings as escapes.
pub(crate) struct HiddenText {
    /// The character or declaration.
    pub(crate) subject: String,
}

impl Violation for HiddenText {
    const ID: &'static str = "PN104";
    const NAME: &'static str = "hidden-text";
    const SOURCE: &'static str = include_str!("hidden_text.rs");
    const HELP: &'static str = "write names in ASCII and save the file as plain UTF-8";

    fn message(&self) -> String {
        format!("{} hides what the file says", self.subject)
    }
}
