use crate::rule::Violation;

/// ## What it does
///
/// Requires file names to be plain Python identifiers that do not hide a module of Python or PyTorch.
///
/// ## Why
///
/// A file `torch.py` or `math.py` would be imported instead of the real module, or the real module instead of the
/// file. The checker could not know which of the two Python imports.
///
/// ## Example
///
/// ```text
/// passes/
///     math.py              # PN106
/// ```
///
/// ## How to fix
///
/// Rename the file, e.g. to `fuse_gelu.py`.
pub(crate) struct ModuleName {
    /// The file name.
    pub(crate) subject: String,
}

impl Violation for ModuleName {
    const ID: &'static str = "PN106";
    const NAME: &'static str = "module-name";
    const SOURCE: &'static str = include_str!("module_name.rs");
    const HELP: &'static str = "name the file by a lower-case ASCII identifier that no installed module has";

    fn message(&self) -> String {
        format!("`{}` cannot be the name of a pass module", self.subject)
    }
}
