//! Integer inputs that are quantities: they are neither indices nor sizes, so they can have any value.
//!
//! A quantity that is converted to a floating-point number is no index from there on, unless it is converted back.

use passnet_graph::{Arg, Callee, Graph, Node, ValueId, ops::OpName};
use passnet_record::{DType, TensorMeta};

use crate::rule::has_float_parts;

/// Functions that compute with all their arguments.
const ARITHMETIC: &[&str] = &[
    "add",
    "sub",
    "mul",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "neg",
    "abs",
    "maximum",
    "minimum",
    "where",
    "and",
    "or",
    "xor",
    "invert",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_not",
    "logical_and",
    "logical_or",
    "logical_not",
    "logical_xor",
    "masked_fill",
    "rsub",
    "subtract",
    "multiply",
    "gcd",
];
/// Functions that join the tensors of a list.
const JOINS: &[&str] = &["cat", "concat", "concatenate", "stack", "hstack", "vstack"];
/// Functions that compute with their first argument. Other integers may be dimensions, divisors and exponents.
const OF_FIRST: &[&str] = &[
    "truediv",
    "div",
    "floordiv",
    "floor_divide",
    "mod",
    "remainder",
    "fmod",
    "pow",
    "square",
    "sign",
    "clamp",
    "float",
    "double",
    "half",
    "bfloat16",
    "type",
    "long",
    "int",
    "to",
    "sum",
    "amax",
    "amin",
    "max",
    "min",
    "any",
    "all",
    "argmax",
    "argmin",
    "sort",
    "argsort",
    "cumsum",
    "topk",
    "getitem",
    "view",
    "reshape",
    "flatten",
    "expand",
    "unsqueeze",
    "squeeze",
    "transpose",
    "permute",
    "contiguous",
    "clone",
    "rshift",
    "lshift",
    "bitwise_right_shift",
    "bitwise_left_shift",
    "clamp_min",
    "clamp_max",
    "clip",
    "flip",
    "roll",
    "repeat",
    "tile",
    "narrow",
    "select",
    "chunk",
    "split",
    "unbind",
    "movedim",
    "swapaxes",
    "expand_as",
    "broadcast_to",
    "view_as",
    "repeat_interleave",
    "gather",
    "index_select",
    "tril",
    "triu",
    "diff",
    "prod",
    "cummax",
    "cummin",
    "count_nonzero",
];

/// Functions whose results are floating-point numbers.
const FLOATING: &[&str] = &[
    "float",
    "double",
    "half",
    "bfloat16",
    "truediv",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sigmoid",
    "erf",
];
/// Functions whose results are integers, bools or sizes, of floating-point numbers too.
const WHOLE: &[&str] = &[
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "isin",
    "isnan",
    "isinf",
    "isfinite",
    "isclose",
    "logical_and",
    "logical_or",
    "logical_not",
    "logical_xor",
    "any",
    "all",
    "argmax",
    "argmin",
    "argsort",
    "sort",
    "topk",
    "nonzero",
    "searchsorted",
    "bucketize",
    "multinomial",
    "long",
    "int",
    "short",
    "char",
    "byte",
    "bool",
    "max",
    "min",
    "median",
    "mode",
    "unique",
];
/// Functions that make sizes or Python numbers of floating-point numbers.
const SIZES: &[&str] = &["item", "tolist", "arange", "linspace", "full", "empty", "zeros", "ones", "repeat_interleave"];

/// Methods that describe a tensor.
const DESCRIPTIONS: &[&str] = &["size", "dim", "numel", "stride"];
/// Attributes that describe a tensor.
const ATTRIBUTES: &[&str] = &["shape", "ndim", "dtype", "device"];

/// Use of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Only arithmetic of integers.
    Whole,
    /// Only arithmetic, at times of floating-point numbers.
    Arithmetic,
    /// Any function, after the conversion to a floating-point number.
    Function,
}

/// Integer input that is a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quantity {
    pub(crate) name: String,
    pub(crate) usage: Use,
}

/// Returns the inputs that reach only such functions, or any function as floating-point numbers. Inputs that are not used are
/// returned too.
pub(crate) fn quantities_of(graph: &Graph, metas: &[TensorMeta]) -> Vec<Quantity> {
    let real = real_values(graph, metas);
    let inputs = graph.inputs().zip(graph.input_names());
    let quantity =
        |(input, name): (ValueId, &str)| Some(Quantity { usage: use_of(graph, input, &real)?, name: name.to_owned() });
    inputs.filter_map(quantity).collect()
}

/// Returns which values are known to be floating-point tensors.
fn real_values(graph: &Graph, metas: &[TensorMeta]) -> Vec<bool> {
    let mut real = vec![false; graph.num_values()];
    for (input, name) in graph.inputs().zip(graph.input_names()) {
        real[input.index()] = metas.iter().any(|meta| meta.name == name && has_float_parts(meta.dtype));
    }
    for node in graph.nodes() {
        real[node.value.index()] = is_real(&node, &real);
    }
    real
}

fn is_real(node: &Node<'_>, real: &[bool]) -> bool {
    let Some(OpName { name, in_place, .. }) = OpName::of(node.callee) else { return false };
    if in_place {
        return matches!(node.args.first(), Some(Arg::Value(value)) if real[value.index()]);
    }
    let dtype = node.all_args().find_map(|arg| if let Arg::DType(dtype) = arg { Some(dtype) } else { None });
    if let Some(dtype) = dtype {
        return dtype.is_float();
    }
    let has_float = || node.args.iter().any(|arg| matches!(arg, Arg::Float(_))) && ARITHMETIC.contains(&name);
    FLOATING.contains(&name)
        || !(WHOLE.contains(&name) || DESCRIPTIONS.contains(&name))
            && (has_float() || node.operands().any(|value| real[value.index()]))
}

/// Returns whether the result does not depend on values, but on shapes and types only.
pub(crate) fn is_description(graph: &Graph, node: &Node<'_>) -> bool {
    let attribute = |arg: &Arg| matches!(arg, Arg::Str(name) if ATTRIBUTES.contains(&graph.str(*name)));
    match node.callee {
        Callee::Function(target) => target == "builtins.getattr" && node.args.get(1).is_some_and(attribute),
        Callee::Method(name) => DESCRIPTIONS.contains(&name),
    }
}

/// Returns the use of an input; `None` if it may be an index or a size.
fn use_of(graph: &Graph, input: ValueId, real: &[bool]) -> Option<Use> {
    let mut depends = vec![false; graph.num_values()];
    depends[input.index()] = true;
    let mut usage = Use::Whole;
    for node in graph.nodes() {
        let mut operands = node.operands().filter(|value| depends[value.index()]).peekable();
        if operands.peek().is_none() {
            continue;
        }
        if is_description(graph, &node) {
            continue;
        }
        let name = OpName::of(node.callee)?.name;
        if operands.all(|value| real[value.index()]) {
            if SIZES.contains(&name) {
                return None;
            }
            if !computes(&node, &depends) {
                usage = Use::Function;
            }
        } else if FLOATING.contains(&name) && !OF_FIRST.contains(&name) {
            usage = Use::Function;
        } else if !computes(&node, &depends) {
            return None;
        }
        if name == "half" || node.all_args().any(|arg| matches!(arg, Arg::DType(DType::Float16))) {
            // Larger numbers are infinite there.
            usage = Use::Function;
        }
        depends[node.value.index()] = true;
        if usage == Use::Whole && real[node.value.index()] {
            usage = Use::Arithmetic;
        }
    }
    Some(usage)
}

/// Returns whether a call computes with those of its arguments that depend on the input.
fn computes(node: &Node<'_>, depends: &[bool]) -> bool {
    let Some(op) = OpName::of(node.callee) else { return false };
    if JOINS.contains(&op.name) {
        // The dimension, if any, is a number of the graph or does not depend on the input.
        return node.args.iter().skip(1).all(|arg| !matches!(arg, Arg::Value(value) if depends[value.index()]));
    }
    // Any other list of values may be indices.
    let depending = |arg: &Arg| matches!(arg, Arg::Value(value) if depends[value.index()]);
    let count = node.operands().filter(|value| depends[value.index()]).count();
    let plain = node.args.iter().filter(|arg| depending(arg)).count();
    let is_first = plain == 1 && node.args.first().is_some_and(depending);
    count == plain && (ARITHMETIC.contains(&op.name) || is_first && OF_FIRST.contains(&op.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::meta;

    /// Returns the use of the input `x` in a graph of three calls. Each call has the result before it as its first argument, or as its second
    /// one after `y`, which is a floating-point tensor.
    fn use_in(calls: &[(&str, bool)]) -> Option<Use> {
        let mut builder = Graph::builder();
        let (x, y) = (builder.input("x"), builder.input("y"));
        let mut value = builder.call_function("sum", "operator.add", &[x.into(), Arg::Int(1)], &[]);
        for (number, (path, is_first)) in calls.iter().enumerate() {
            let args: &[Arg] = if *is_first { &[value.into(), y.into()] } else { &[y.into(), value.into()] };
            // Conversions have one argument.
            let args = if path.starts_with('.') || CONVERSIONS.contains(path) { &args[..1] } else { args };
            let name = format!("z{number}");
            value = match path.strip_prefix('.') {
                Some(method) => builder.call_method(&name, method, args, &[]),
                None => builder.call_function(&name, path, args, &[]),
            };
        }
        let graph = builder.finish(&[value.into()]).unwrap();
        let named = |name: &str, dtype| TensorMeta { name: name.to_owned(), ..meta(dtype, &[4]) };
        let metas = [named("x", DType::Int64), named("y", DType::Float32)];
        quantities_of(&graph, &metas).into_iter().find(|quantity| quantity.name == "x").map(|quantity| quantity.usage)
    }

    /// The size of a tensor does not depend on its values, but any other use of integers as a size does.
    #[test]
    fn descriptions_do_not_depend_on_values() {
        for (attribute, expected) in [("shape", Some(Use::Arithmetic)), ("T", None)] {
            let mut builder = Graph::builder();
            let x = builder.input("x").into();
            let name = builder.str(attribute);
            let shape = builder.call_function("shape", "builtins.getattr", &[x, name], &[]).into();
            let float = builder.call_method("y", "float", &[x], &[]).into();
            let view = builder.call_method("z", "view", &[float, shape], &[]);
            let graph = builder.finish(&[view.into()]).unwrap();
            assert_eq!(quantities_of(&graph, &[]).first().map(|quantity| quantity.usage), expected, "{attribute}");
        }
    }

    const CONVERSIONS: [&str; 3] = ["torch.float", "torch.long", "torch.neg"];

    #[test]
    fn indices_divisors_and_sizes_are_no_quantities() {
        for (path, is_first, expected) in [
            ("torch.neg", true, Some(Use::Whole)),
            ("operator.mul", true, Some(Use::Arithmetic)),
            ("operator.eq", true, Some(Use::Whole)),
            ("operator.rshift", true, Some(Use::Arithmetic)),
            ("operator.rshift", false, None),
            ("torch.flip", true, Some(Use::Arithmetic)),
            ("torch.gather", false, None),
            ("operator.floordiv", true, Some(Use::Arithmetic)),
            ("operator.floordiv", false, None),
            ("operator.getitem", false, None),
            ("torch.nn.functional.embedding", true, None),
            ("torch.index_select", false, None),
            ("torch.softmax", true, None),
        ] {
            assert_eq!(use_in(&[(path, is_first)]), expected, "{path} {is_first}");
        }
    }

    /// Passes that were right for 0 to 99 only were accepted where a function follows a conversion.
    #[test]
    fn floating_point_numbers_are_no_indices() {
        let float = ("torch.float", true);
        for (calls, expected) in [
            (&[float, ("torch.softmax", true)][..], Some(Use::Function)),
            (&[("torch.cos", true)], Some(Use::Function)),
            (&[(".half", true)], Some(Use::Function)),
            (&[("operator.mul", true), ("torch.logsumexp", true)], Some(Use::Function)),
            (&[float, ("operator.add", true)], Some(Use::Arithmetic)),
            (&[float, ("torch.long", true), ("torch.neg", true)], Some(Use::Arithmetic)),
            (&[float, ("torch.long", true), ("torch.nn.functional.embedding", true)], None),
            (&[float, ("operator.gt", true), ("torch.repeat_interleave", false)], None),
            (&[float, (".item", true)], None),
            (&[float, ("torch.arange", true)], None),
        ] {
            assert_eq!(use_in(calls), expected, "{calls:?}");
        }
    }
}
