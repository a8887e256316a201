//! The language of Triton kernels.

use ruff_text_size::TextRange;

use super::{
    dialect::Dialect,
    flow::{CodeLocation, Flow},
    rules::KernelLanguage,
    value::Value,
};

/// Names of `triton.language` that kernels may not use: assembly, printing, pointers from numbers, and compiler internals.
const EXCLUDED: &[&str] = &[
    "aggregate_replace",
    "core",
    "device_print",
    "extra",
    "inline_asm_elementwise",
    "pointer_type",
    "semantic",
    "standard",
    "static_print",
    "str_to_ty",
    "target_info",
    "to_tensor",
];

/// Allowed names of `triton.language`, as of Triton 3.9 and earlier.
const LANGUAGE: &[&str] = &[
    "PropagateNan",
    "TRITON_MAX_TENSOR_NUMEL",
    "abs",
    "add",
    "advance",
    "arange",
    "argmax",
    "argmin",
    "associative_scan",
    "assume",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_load",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_store",
    "atomic_xchg",
    "atomic_xor",
    "bfloat16",
    "block_type",
    "broadcast",
    "broadcast_to",
    "cast",
    "cat",
    "cdiv",
    "ceil",
    "clamp",
    "const",
    "constexpr",
    "cos",
    "cumprod",
    "cumsum",
    "debug_barrier",
    "device_assert",
    "div_rn",
    "dot",
    "dot_scaled",
    "dtype",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "fdiv",
    "flip",
    "float16",
    "float32",
    "float64",
    "float8e4b15",
    "float8e4b8",
    "float8e4nv",
    "float8e5",
    "float8e5b16",
    "floor",
    "fma",
    "full",
    "gather",
    "histogram",
    "int1",
    "int16",
    "int32",
    "int64",
    "int8",
    "interleave",
    "join",
    "libdevice",
    "load",
    "load_tensor_descriptor",
    "log",
    "log2",
    "make_block_ptr",
    "make_tensor_descriptor",
    "map_elementwise",
    "max",
    "max_constancy",
    "max_contiguous",
    "maximum",
    "min",
    "minimum",
    "mul",
    "multiple_of",
    "num_programs",
    "permute",
    "philox",
    "program_id",
    "rand",
    "rand4x",
    "randint",
    "randint4x",
    "randn",
    "randn4x",
    "range",
    "ravel",
    "reduce",
    "reduce_or",
    "reshape",
    "rsqrt",
    "sigmoid",
    "sin",
    "softmax",
    "sort",
    "split",
    "sqrt",
    "sqrt_rn",
    "squeeze",
    "static_assert",
    "static_range",
    "store",
    "store_tensor_descriptor",
    "sub",
    "sum",
    "swizzle2d",
    "tensor",
    "topk",
    "trans",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "umulhi",
    "unsqueeze",
    "view",
    "void",
    "where",
    "xor_sum",
    "zeros",
    "zeros_like",
];

/// Names of `triton.language.math`.
const MATH: &[&str] = &[
    "abs", "ceil", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor", "fma", "log", "log2", "max", "min", "pow",
    "rsqrt", "sin", "sqrt", "sqrt_rn", "tanh", "umulhi",
];

/// Attributes and methods of values inside a kernel.
const ATTRIBUTES: &[&str] = &[
    "ALL",
    "NONE",
    "T",
    "abs",
    "advance",
    "argmax",
    "argmin",
    "associative_scan",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "broadcast_to",
    "cast",
    "cdiv",
    "ceil",
    "cos",
    "cumprod",
    "cumsum",
    "dtype",
    "element_ty",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "flip",
    "floor",
    "gather",
    "histogram",
    "is_block",
    "is_bf16",
    "is_floating",
    "is_fp16",
    "is_fp32",
    "is_fp64",
    "is_int",
    "is_ptr",
    "load",
    "log",
    "log2",
    "logical_and",
    "logical_or",
    "max",
    "min",
    "numel",
    "permute",
    "primitive_bitwidth",
    "ravel",
    "reduce",
    "reshape",
    "rsqrt",
    "scalar",
    "shape",
    "sigmoid",
    "sin",
    "softmax",
    "sort",
    "split",
    "sqrt",
    "sqrt_rn",
    "store",
    "sum",
    "to",
    "trans",
    "type",
    "value",
    "view",
    "xor_sum",
];

/// Builtins that Triton compiles.
const BUILTINS: &[&str] = &["abs", "bool", "float", "int", "len", "max", "min", "range"];

/// The language of `@triton.jit` functions.
pub(super) struct TritonLanguage;

impl Dialect for TritonLanguage {
    const CONTROL_FLOW: bool = true;

    fn allows_path(path: &str) -> bool {
        let Some((module, name)) = path.rsplit_once('.') else { return false };
        match module {
            // Both lists are needed: a name that a later version of Triton adds is refused until a person has checked what it
            // does.
            "triton.language" => LANGUAGE.contains(&name) && !EXCLUDED.contains(&name) && name != "libdevice",
            "triton.language.math" => MATH.contains(&name),
            "triton.language.extra.libdevice"
            | "triton.language.extra.cuda.libdevice"
            | "triton.language.libdevice" => !name.starts_with('_') && !matches!(name, "core" | "extern" | "builtins"),
            "math" => matches!(name, "pi" | "e" | "inf" | "nan" | "sqrt" | "log" | "log2" | "exp"),
            "triton" => matches!(name, "cdiv" | "next_power_of_2"),
            _ => false,
        }
    }

    fn allows_attribute(name: &str) -> bool {
        ATTRIBUTES.contains(&name)
    }

    fn allows_builtin(name: &str) -> bool {
        BUILTINS.contains(&name)
    }

    fn allows_value(value: &Value) -> bool {
        matches!(value, Value::Kernel | Value::Plain | Value::Tuple(_))
    }

    fn report(flow: &mut Flow<'_>, frame: CodeLocation, range: TextRange, subject: String) {
        flow.report(frame.module, &range, &KernelLanguage { subject });
    }
}
