use crate::lint::rule::Violation;

/// ## What it does
///
/// Requires the source of a C++ or CUDA kernel to be a string literal, or a module-level constant that is one.
///
/// ## Why
///
/// Source that is put together while running cannot be read beforehand.
///
/// ## Example
///
/// ```python
/// SOURCE = "int f() { return " + BODY + "; }"      # PN701
/// ```
///
/// ## How to mend
///
/// Write the source as one triple-quoted string.
pub(in crate::lint) struct NativeSource {
    /// What stands there.
    pub(in crate::lint) subject: String,
}

impl Violation for NativeSource {
    const ID: &'static str = "PN701";
    const NAME: &'static str = "native-source";
    const SOURCE: &'static str = include_str!("native_source.rs");
    const HELP: &'static str = "write the source as one triple-quoted string constant";

    fn message(&self) -> String {
        format!("the source of a native kernel has to be one string literal, not {}", self.subject)
    }
}
