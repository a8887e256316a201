//! Integer inputs that are quantities: they are neither indices nor sizes, so they can have any value.

use passnet_graph::{Arg, Graph, Node, ValueId, ops::OpName};

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
];
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
    "unsqueeze",
    "squeeze",
    "transpose",
    "permute",
    "contiguous",
    "clone",
];

/// Returns the names of the inputs that reach only such functions. Inputs that are not used have no names here.
pub(crate) fn quantities_of(graph: &Graph) -> Vec<String> {
    graph
        .inputs()
        .zip(graph.input_names())
        .filter(|(input, _)| is_quantity(graph, *input))
        .map(|(_, name)| name.to_owned())
        .collect()
}

fn is_quantity(graph: &Graph, input: ValueId) -> bool {
    let mut depends = vec![false; graph.num_values()];
    depends[input.index()] = true;
    for node in graph.nodes() {
        if node.operands().any(|value| depends[value.index()]) {
            if !computes(&node, &depends) {
                return false;
            }
            depends[node.value.index()] = true;
        }
    }
    true
}

/// Returns whether a call computes with those of its arguments that depend on the input.
fn computes(node: &Node<'_>, depends: &[bool]) -> bool {
    let Some(op) = OpName::of(node.callee) else { return false };
    // A list of values may be indices.
    let depending = |arg: &Arg| matches!(arg, Arg::Value(value) if depends[value.index()]);
    let count = node.operands().filter(|value| depends[value.index()]).count();
    let plain = node.args.iter().filter(|arg| depending(arg)).count();
    let is_first = plain == 1 && node.args.first().is_some_and(depending);
    count == plain && (ARITHMETIC.contains(&op.name) || is_first && OF_FIRST.contains(&op.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_divisors_and_sizes_are_no_quantities() {
        let is_quantity = |path: &str, is_first: bool| {
            let mut builder = Graph::builder();
            let (x, y) = (builder.input("x").into(), builder.input("y").into());
            let sum = builder.call_function("sum", "operator.add", &[x, Arg::Int(1)], &[]).into();
            let args = if is_first { [sum, y] } else { [y, sum] };
            let result = builder.call_function("z", path, &args, &[]);
            quantities_of(&builder.finish(&[result.into()]).unwrap()).contains(&"x".to_owned())
        };
        for (path, is_first, expected) in [
            ("operator.mul", true, true),
            ("operator.floordiv", true, true),
            ("operator.floordiv", false, false),
            ("operator.getitem", true, true),
            ("operator.getitem", false, false),
            ("torch.nn.functional.embedding", true, false),
            ("torch.index_select", false, false),
            ("torch.softmax", true, false),
        ] {
            assert_eq!(is_quantity(path, is_first), expected, "{path} {is_first}");
        }
    }
}
