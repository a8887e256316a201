//! Functions and constants of imported modules that host code may use.

use super::dtypes::{TORCH_DTYPES, TRITON_DTYPES};
use crate::native::NativeLanguage;

/// Use of a function or constant of an imported module in host code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    /// Reads data: an element type, a number, a memory format.
    Constant,
    /// Makes a tensor from plain arguments.
    Create,
    /// Makes a tensor like its first argument, or a copy of it.
    CreateLike,
    /// Computes plain data from plain data.
    Compute,
    /// Reads plain data from the metadata of tensors.
    Inspect,
    /// Copies a tensor to another one.
    Copy,
    /// Makes a view of its first argument; `reshape` and the like copy it if there is no such view.
    View,
    /// Makes several views of its first argument.
    Views,
    /// Makes views of all of its arguments.
    Broadcast,
    /// Makes a descriptor of its first argument for a launch.
    Descriptor,
    /// `triton.set_allocator`.
    Allocator,
    /// Iterates over its arguments: a function of `itertools`.
    Iterate,
    /// Calls its first argument: `functools.reduce`.
    Reduce,
    /// `functools.partial`.
    Partial,
    /// `collections.namedtuple`.
    NamedTuple,
    /// `dataclasses.field`.
    Field,
    /// `dataclasses.replace`.
    Replace,
    /// Makes a context manager for `with`.
    Context,
    /// `triton.Config`.
    Config,
    /// `torch.fx.wrap`.
    Wrap,
    /// Compiles a native kernel from a source, for the CPU or for a device.
    Native(NativeLanguage),
}

/// Keyword arguments that creation functions take.
pub(super) const CREATE_KEYWORDS: &[&str] =
    &["device", "dtype", "fill_value", "input", "layout", "memory_format", "requires_grad", "size", "stride"];

/// Keyword arguments that views take.
pub(super) const VIEW_KEYWORDS: &[&str] = &[
    "chunks",
    "destination",
    "dim",
    "dim0",
    "dim1",
    "dims",
    "end_dim",
    "indices_or_sections",
    "length",
    "memory_format",
    "shape",
    "size",
    "sizes",
    "source",
    "split_size",
    "split_size_or_sections",
    "start",
    "start_dim",
    "storage_offset",
];

/// Attributes that only inspect a tensor.
pub(super) const TENSOR_ATTRIBUTES: &[&str] =
    &["device", "dtype", "is_cpu", "is_cuda", "itemsize", "layout", "nbytes", "ndim", "requires_grad", "shape"];

/// Methods that only inspect a tensor.
pub(super) const TENSOR_INSPECTIONS: &[&str] = &[
    "dim",
    "element_size",
    "get_device",
    "is_complex",
    "is_contiguous",
    "is_floating_point",
    "is_signed",
    "ndimension",
    "nelement",
    "numel",
    "size",
    "storage_offset",
    "stride",
];

/// Attributes and methods of a launch's arguments that depend on types and sizes only.
pub(super) const ARGUMENT_ATTRIBUTES: &[&str] = &["dtype", "itemsize", "ndim", "shape"];
pub(super) const ARGUMENT_INSPECTIONS: &[&str] = &["dim", "element_size", "numel", "size"];

/// Attributes that are views of a tensor.
pub(super) const TENSOR_VIEWS: &[&str] = &["T", "mT"];

/// Methods and functions that return the tensor or a view of it, if there is one, and copy otherwise. The interception layer
/// refuses the copy.
pub(super) const VIEWS_OR_COPIES: &[&str] = &["contiguous", "flatten", "ravel", "reshape", "reshape_as"];

/// Methods and functions that make several views of a tensor.
pub(super) const TENSOR_PARTS: &[&str] = &["chunk", "split", "split_with_sizes", "tensor_split", "unbind"];

/// Methods that make a tensor and are no functions of `torch`: new memory, or another view of the same bytes.
const TENSOR_CREATIONS: &[&str] = &[
    "contiguous",
    "expand",
    "expand_as",
    "new_empty",
    "new_empty_strided",
    "new_full",
    "new_ones",
    "new_zeros",
    "reshape_as",
    "view",
    "view_as",
];

/// Attributes of plain values: devices, element types, shapes, device properties, streams, settings of kernels.
pub(super) const PLAIN_ATTRIBUTES: &[&str] = &[
    "arch",
    "backend",
    "bits",
    "cuda_stream",
    "eps",
    "index",
    "is_complex",
    "is_floating_point",
    "is_signed",
    "itemsize",
    "major",
    "max",
    "max_threads_per_multi_processor",
    "maxnreg",
    "min",
    "minor",
    "multi_processor_count",
    "name",
    "num_ctas",
    "num_stages",
    "num_warps",
    "primitive_bitwidth",
    "shared_memory_per_block",
    "shared_memory_per_block_optin",
    "shared_memory_per_multiprocessor",
    "smallest_normal",
    "tiny",
    "total_memory",
    "type",
    "value",
    "warp_size",
];

/// Methods of plain values that return plain values.
pub(super) const PLAIN_METHODS: &[&str] = &[
    "bit_count",
    "bit_length",
    "capitalize",
    "center",
    "count",
    "endswith",
    "find",
    "index",
    "is_integer",
    "isdigit",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "numel",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rjust",
    "rpartition",
    "rstrip",
    "startswith",
    "strip",
    "title",
    "upper",
    "zfill",
];

/// Methods of containers that only read.
pub(super) const ITEMS_READS: &[&str] = &["copy", "count", "get", "index", "items", "keys", "values"];

/// Methods of containers that change them.
pub(super) const ITEMS_CHANGES: &[&str] =
    &["append", "clear", "extend", "insert", "pop", "remove", "reverse", "setdefault", "sort", "update"];

/// Builtins that compute plain values from plain values.
pub(super) const BUILTIN_COMPUTE: &[&str] = &[
    "abs",
    "all",
    "any",
    "bool",
    "divmod",
    "float",
    "int",
    "len",
    "max",
    "min",
    "pow",
    "range",
    "round",
    "str",
    "sum",
    "AssertionError",
    "IndexError",
    "KeyError",
    "NotImplementedError",
    "RuntimeError",
    "TypeError",
    "ValueError",
];

/// Builtins that make or rearrange containers.
pub(super) const BUILTIN_CONTAINERS: &[&str] =
    &["dict", "enumerate", "frozenset", "list", "reversed", "set", "sorted", "tuple", "zip"];

/// Builtins that ask what a value is, and the steps of an iterator.
pub(super) const BUILTIN_QUESTIONS: &[&str] = &["callable", "getattr", "hasattr", "isinstance", "iter", "next", "type"];

/// Functions of `torch`, and methods, that return a view of their first argument, or it itself.
const TORCH_VIEWS: &[&str] = &[
    "as_strided",
    "broadcast_to",
    "detach",
    "flatten",
    "movedim",
    "narrow",
    "permute",
    "ravel",
    "reshape",
    "select",
    "squeeze",
    "swapaxes",
    "swapdims",
    "t",
    "transpose",
    "unflatten",
    "unsqueeze",
];

/// Functions of `operator` that compute a value from two numbers, and change neither.
const OPERATORS: &[&str] = &[
    "abs", "add", "and_", "eq", "floordiv", "ge", "gt", "index", "invert", "le", "lshift", "lt", "mod", "mul", "ne",
    "neg", "not_", "or_", "pos", "pow", "rshift", "sub", "truediv", "truth", "xor",
];

/// Functions of `itertools` that take their elements from their arguments.
const ITERATORS: &[&str] = &[
    "accumulate",
    "chain",
    "combinations",
    "combinations_with_replacement",
    "islice",
    "pairwise",
    "permutations",
    "product",
    "repeat",
    "zip_longest",
];

/// Functions whose plain results depend on the moment of the call, so that a stored result would reveal an earlier call.
pub(super) const MOMENTARY: &[&str] = &[
    "torch.cuda.current_device",
    "torch.cuda.current_stream",
    "torch.get_num_threads",
    "triton.runtime.driver.active.get_active_torch_device",
    "triton.runtime.driver.active.get_current_target",
];

/// Returns whether a method of tensors makes one tensor.
pub(super) fn makes_tensor(method: &str) -> bool {
    TENSOR_CREATIONS.contains(&method) || TORCH_VIEWS.contains(&method)
}

/// Returns whether Python itself binds the name, allowed or not. In a file that binds the name too, its meaning depends on the
/// time of a use.
pub(super) fn is_python_builtin(name: &str) -> bool {
    include_str!("../names/builtins.txt").lines().any(|builtin| builtin == name)
}

/// Returns the builtin of this name, if host code may use it.
pub(super) fn builtin(name: &str) -> Option<&'static str> {
    let lists = [BUILTIN_COMPUTE, BUILTIN_CONTAINERS, BUILTIN_QUESTIONS, &["filter", "map"]];
    lists.into_iter().flatten().copied().find(|known| *known == name)
}

/// Returns the use that host code may make of a dotted name; `None` if host code may not use it.
pub(super) fn api(path: &str) -> Option<Api> {
    let (module, name) = path.rsplit_once('.')?;
    Some(match (module, name) {
        ("torch", name) if TORCH_DTYPES.contains(&name) => Api::Constant,
        (
            "torch",
            "channels_last" | "channels_last_3d" | "contiguous_format" | "preserve_format" | "strided" | "e" | "inf"
            | "nan" | "pi",
        ) => Api::Constant,
        ("torch", "empty" | "empty_strided" | "full" | "ones" | "zeros") => Api::Create,
        ("torch", "empty_like" | "full_like" | "ones_like" | "zeros_like") => Api::CreateLike,
        ("torch", "broadcast_shapes" | "device" | "finfo" | "get_num_threads" | "iinfo" | "promote_types" | "Size") => {
            Api::Compute
        }
        ("torch", "is_complex" | "is_floating_point" | "is_tensor" | "numel" | "result_type") => Api::Inspect,
        ("torch", name) if TENSOR_PARTS.contains(&name) => Api::Views,
        ("torch", name) if TORCH_VIEWS.contains(&name) => Api::View,
        ("torch.version", "cuda" | "hip") | ("torch" | "triton", "__version__") => Api::Constant,
        ("torch", "no_grad") | ("contextlib", "nullcontext") => Api::Context,
        (
            "torch.cuda",
            "current_device"
            | "current_stream"
            | "device_count"
            | "get_device_capability"
            | "get_device_name"
            | "get_device_properties"
            | "is_available",
        ) => Api::Compute,
        ("torch.cuda", "device" | "device_of") => Api::Context,
        ("torch.fx", "wrap") => Api::Wrap,
        ("math", "e" | "inf" | "nan" | "pi" | "tau") => Api::Constant,
        ("math", name) if !name.starts_with('_') => Api::Compute,
        ("textwrap", "dedent") | ("torch", "get_float32_matmul_precision") => Api::Compute,
        ("torch.backends.cuda.matmul" | "torch.backends.cudnn", "allow_tf32") => Api::Constant,
        ("torch", "broadcast_tensors") => Api::Broadcast,
        ("bisect", "bisect" | "bisect_left" | "bisect_right") | ("typing", "cast" | "TypeVar") => Api::Compute,
        ("operator", name) if OPERATORS.contains(&name) => Api::Compute,
        ("enum", "auto") => Api::Compute,
        ("itertools", name) if ITERATORS.contains(&name) => Api::Iterate,
        ("itertools.chain", "from_iterable") => Api::Iterate,
        ("functools", "reduce") => Api::Reduce,
        ("functools", "partial") => Api::Partial,
        ("collections", "namedtuple") => Api::NamedTuple,
        ("dataclasses", "field") => Api::Field,
        ("dataclasses", "replace") => Api::Replace,
        ("passnet.kernels", "cpp") => Api::Native(NativeLanguage::Cpp),
        ("passnet.kernels", "cuda") => Api::Native(NativeLanguage::Cuda),
        ("passnet.kernels", "require") => Api::Inspect,
        ("passnet.kernels", "copy") => Api::Copy,
        ("passnet.kernels", "with_strides") => Api::CreateLike,
        _ => return triton_api(module, name),
    })
}

fn triton_api(module: &str, name: &str) -> Option<Api> {
    Some(match (module, name) {
        ("triton", "cdiv" | "next_power_of_2") | ("triton.language", "cdiv" | "constexpr") => Api::Compute,
        ("triton", "Config") => Api::Config,
        ("triton.language", name) if TRITON_DTYPES.contains(&name) => Api::Constant,
        ("triton", "set_allocator") => Api::Allocator,
        ("triton.tools.tensor_descriptor", "TensorDescriptor")
        | ("triton.tools.tensor_descriptor.TensorDescriptor", "from_tensor") => Api::Descriptor,
        ("triton.runtime.driver.active", "get_active_torch_device" | "get_current_target")
        | ("triton.runtime.driver.active.utils", "get_device_properties") => Api::Compute,
        _ => return None,
    })
}
