use crate::rule::Violation;

/// ## What it does
///
/// Finds anything in a pass directory that is neither a Python file at its top level nor the order file
/// `sorted_output_pass_rule_names.json`: data files, shared objects, byte code, folders, symbolic links. The
/// `manifest.json` of a pass library is allowed, because passes cannot read it during an evaluation.
///
/// ## Why
///
/// A file that the rules do not read could contain stored answers or code for another interpreter, or lead out of the
/// directory.
///
/// ## Example
///
/// ```text
/// passes/
///     fuse_gelu.py
///     answers.bin          # PN101
///     sorted_output_pass_rule_names.json
/// ```
///
/// ## How to fix
///
/// Keep only `.py` files and the order file in the directory. Write constants into the source.
pub(crate) struct UnexpectedFile {
    /// The file and, if its name is not the problem, the problem.
    pub(crate) subject: String,
}

impl Violation for UnexpectedFile {
    const ID: &'static str = "PN101";
    const NAME: &'static str = "unexpected-file";
    const SOURCE: &'static str = include_str!("unexpected_file.rs");
    const HELP: &'static str = "keep only .py files and sorted_output_pass_rule_names.json, without folders or links";

    fn message(&self) -> String {
        format!("`{}` does not belong in a pass directory", self.subject)
    }
}
