use crate::rule::Violation;

/// ## What it does
///
/// Checks `sorted_output_pass_rule_names.json`: a JSON list of distinct strings, each the name of a `.py` file of
/// the directory without its suffix.
///
/// ## Why
///
/// The list defines the passes that run, and their order. A name without a file would be an error, and a name could
/// also lead out of the directory.
///
/// ## Example
///
/// ```json
/// ["fuse_gelu", "../other/pass"]      // PN105
/// ```
///
/// ## How to fix
///
/// List each pass once, by its file name without `.py`.
pub(crate) struct OrderFile {
    /// The problem with the list.
    pub(crate) subject: String,
}

impl Violation for OrderFile {
    const ID: &'static str = "PN105";
    const NAME: &'static str = "order-file";
    const SOURCE: &'static str = include_str!("order_file.rs");
    const HELP: &'static str = "the file is a JSON list of the directory's pass names, each once";

    fn message(&self) -> String {
        self.subject.clone()
    }
}
