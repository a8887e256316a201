//! Modules that a pass may import.

use ruff_python_ast::Alias;

/// Modules that a pass may import. Names that are imported *from* them are checked where they are used.
pub(crate) const IMPORTABLE: &[&str] = &[
    "bisect",
    "collections",
    "collections.abc",
    "contextlib",
    "dataclasses",
    "enum",
    "functools",
    "itertools",
    "math",
    "operator",
    "passnet",
    "passnet.kernels",
    "textwrap",
    "torch",
    "torch.autograd",
    "torch.fft",
    "torch.fx",
    "torch.linalg",
    "torch.nn",
    "torch.nn.functional",
    "torch.special",
    "triton",
    "triton.language",
    "triton.language.extra",
    "triton.language.extra.cuda",
    "triton.language.extra.cuda.libdevice",
    "triton.language.extra.libdevice",
    "triton.language.math",
    "triton.runtime",
    "triton.tools.tensor_descriptor",
    "typing",
];

/// First components of the importable modules. No file of a directory may have such a name.
pub(crate) const IMPORTABLE_ROOTS: &[&str] = &[
    "bisect",
    "collections",
    "contextlib",
    "dataclasses",
    "enum",
    "functools",
    "itertools",
    "math",
    "operator",
    "pass_dir",
    "passnet",
    "textwrap",
    "torch",
    "triton",
    "typing",
];

/// Returns the name that an alias of an import statement binds. `import a.b` binds `a`.
pub(crate) fn bound_name(alias: &Alias) -> &str {
    match &alias.asname {
        Some(name) => name.as_str(),
        None => alias.name.as_str().split('.').next().unwrap_or_default(),
    }
}
