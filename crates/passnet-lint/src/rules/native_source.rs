use crate::rule::Violation;

/// ## What it does
///
/// Requires the source of a C++ or CUDA kernel to be a string literal, or a module-level constant that is one, and the call to stand at module
/// level, or in a function without arguments and variables under `functools.cache`.
///
/// ## Why
///
/// The checker cannot read source that is built at run time.
///
/// ## Example
///
/// ```python
/// SOURCE = "int f() { return " + BODY + "; }"      # PN701
/// ```
///
/// ## How to fix
///
/// Write the source as one triple-quoted string. Constants of the module may be put together: `HEADER + BODY`, f-strings of
/// strings and numbers without a format, `TEMPLATE % values`, the methods `format`, `join`, `replace` and `strip`, and `textwrap.dedent`.
pub(crate) struct NativeSource {
    /// The text at that place.
    pub(crate) subject: String,
}

impl Violation for NativeSource {
    const ID: &'static str = "PN701";
    const NAME: &'static str = "native-source";
    const SOURCE: &'static str = include_str!("native_source.rs");
    const HELP: &'static str = "write the source as one triple-quoted string, or put it together from constants with `+`, f-strings, `%`, `format`, `join` or `replace`";

    fn message(&self) -> String {
        format!("the source of a native kernel has to be a constant text, not {}", self.subject)
    }
}
