use crate::rule::Violation;

/// ## What it does
///
/// Allows imports of a fixed list of modules: `torch` (with `torch.nn`, `torch.nn.functional`, `torch.fx`, `torch.autograd`),
/// `triton`, `triton.language`, libdevice, `passnet.kernels`, `__future__.annotations`, and files of the pass directory:
/// `import helper`, `from . import helper`, `from .helper import f`. Of the standard library, it allows `math`,
/// `operator`, `itertools`, `bisect`, `typing`, `collections.abc`, and these names: `dataclasses.dataclass`, `field` and `replace`,
/// `enum.Enum` and its kinds, `functools.lru_cache`, `cache`, `partial`, `reduce` and `wraps`, `collections.namedtuple`,
/// `contextlib.nullcontext`, `textwrap.dedent`. Of `triton.tools.tensor_descriptor`, it allows `TensorDescriptor`. Functions may import these modules, too.
///
/// ## Why
///
/// A pass may only launch its own kernels. It does not need `ctypes`, `cupy`, `subprocess`, `os`, `sys`, `inspect` or
/// `threading` for this, and each of these modules is a known way around the referee. The allowed modules of the standard
/// library neither keep state nor reach out of the pass. Other names of these modules do, e.g. `functools.singledispatch`.
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
    const HELP: &'static str = "only torch, triton, triton.language, libdevice, passnet.kernels, files of this directory, and data types and pure functions of the standard library can be imported";

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
    match name {
        "functools.update_wrapper" => "; write the function itself instead of a decorator",
        "functools.cached_property" => "; compute the value in a `@property`, or in the wrapper",
        "collections.defaultdict" | "collections.Counter" | "collections.OrderedDict" => "; use a dictionary",
        "collections.deque" => "; use a list",
        "contextlib.contextmanager" => "; call the function around which the context would be",
        "typing.Protocol" | "typing.Generic" | "abc" => "; use plain functions",
        "torch.utils.cpp_extension" | "torch.utils.cpp_extension.load_inline" | "cupy" | "numba" => {
            "; compile C++ with `passnet.kernels.cpp(source, signature)` and CUDA with `passnet.kernels.cuda`"
        }
        "torch.library" => "; define the wrapper as a plain function",
        "os" | "sys" | "time" | "logging" | "warnings" => {
            "; raise an exception with a message, and decide by shape and type"
        }
        "copy" => "; write `list(x)` or `dict(x)`",
        _ if name.starts_with("textwrap.") => {
            "; only `textwrap.dedent` is allowed, and the source of a kernel may be indented"
        }
        "triton.tools" | "triton.tools.experimental_descriptor" => {
            "; write `from triton.tools.tensor_descriptor import TensorDescriptor`"
        }
        "string" => "; write an f-string",
        "random" => "; results depend on the inputs alone",
        _ if name.starts_with("numpy") => "; compute in a kernel, and use `math` for numbers",
        _ if name.starts_with("typing.") => "; leave the annotation out, or write the plain type",
        _ => "",
    }
}
