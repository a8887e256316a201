use crate::rule::Violation;

/// ## What it does
///
/// Allows imports of a fixed list of modules: `torch` (with `torch.nn`, `torch.nn.functional`, `torch.fx`),
/// `triton`, `triton.language`, libdevice, `passnet.kernels`, `math`, `operator`, `typing`,
/// `__future__.annotations`, and files of the pass directory: `import helper`, `from . import helper`,
/// `from .helper import f`.
///
/// ## Why
///
/// A pass may only launch its own kernels. It does not need `ctypes`, `cupy`, `subprocess`, `os`, `sys`, `inspect` or
/// `threading` for this, and each of these modules is a known way around the referee.
///
/// ## Example
///
/// ```python
/// import ctypes                       # PN201
/// from torch.utils import cpp_extension  # PN201
/// ```
///
/// ## How to fix
///
/// Write the computation as a Triton kernel, or as C++ through `passnet.kernels`.
pub(crate) struct ImportNotAllowed {
    /// Dotted name of the module.
    pub(crate) subject: String,
    /// True if a file of the directory has that name, too.
    pub(crate) hides_file: bool,
}

impl Violation for ImportNotAllowed {
    const ID: &'static str = "PN201";
    const NAME: &'static str = "import-not-allowed";
    const SOURCE: &'static str = include_str!("import_not_allowed.rs");
    const HELP: &'static str = "only torch, triton, triton.language, libdevice, passnet.kernels, math, operator, typing and files of this directory can be imported";

    fn message(&self) -> String {
        let name = &self.subject;
        if self.hides_file {
            return format!("`import {name}` finds the installed module, not {name}.py; write `from . import {name}`");
        }
        format!("import of `{name}` is not allowed in a pass{}", advice(name))
    }
}

/// Returns advice for modules that ordinary code often imports.
fn advice(name: &str) -> &'static str {
    match name.split('.').next().unwrap_or_default() {
        "functools" => "; write a function with `def` that passes the fixed arguments",
        "collections" | "dataclasses" | "enum" => "; use tuples, dictionaries and constants of the module",
        "itertools" => "; use loops, `zip` and `enumerate`",
        "typing" => "; leave the annotation out, or write the plain type",
        "numpy" => "; compute in a kernel, and use `math` for numbers",
        _ => "",
    }
}
