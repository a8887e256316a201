//! Integer outputs that NaN and infinities leave well defined.

use passnet_graph::{Arg, Graph, Node, ValueId, ops::OpName};
use passnet_record::TensorMeta;

/// Functions that make bools of numbers, also of NaN and infinities.
const TESTS: &[&str] = &["eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "isposinf", "isneginf"];
/// Functions whose results are well defined where their arguments are. None turns a number into an integer.
const ARITHMETIC: &[&str] = &[
    "add",
    "sub",
    "mul",
    "neg",
    "abs",
    "where",
    "masked_fill",
    "view",
    "reshape",
    "flatten",
    "squeeze",
    "unsqueeze",
    "transpose",
    "permute",
    "t",
    "contiguous",
    "clone",
    "detach",
    "expand",
    "cat",
    "stack",
];
/// Functions of bools and integers whose results are well defined.
const OF_INTEGERS: &[&str] = &[
    "and",
    "or",
    "xor",
    "invert",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_not",
    "sum",
    "any",
    "all",
    "cumsum",
    "count_nonzero",
    "amax",
    "amin",
    "bool",
    "long",
    "int",
    "float",
    "double",
    "to",
];

/// Property of a value of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Definition {
    /// It contains neither NaN nor infinities that depend on the inputs.
    Finite,
    /// It may contain NaN and infinities of the inputs.
    Any,
    /// It may contain integers converted from NaN, or the graph has an unknown function.
    Unknown,
}

/// Set of outputs of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputSet(u64);

impl OutputSet {
    /// Returns the outputs that are well defined for inputs with NaN and infinities if their type is an integer type. On the way from floating-
    /// point inputs to these outputs, only comparisons and tests make integers of other numbers.
    pub(crate) fn defined_for_nan(graph: &Graph, metas: &[TensorMeta]) -> Self {
        let mut values = vec![Definition::Unknown; graph.num_values()];
        for (value, name) in graph.inputs().zip(graph.input_names()) {
            values[value.index()] = match metas.iter().find(|meta| meta.name == name) {
                Some(meta) if meta.dtype.is_float() => Definition::Any,
                Some(meta) if meta.dtype.is_int() || meta.dtype == passnet_record::DType::Bool => Definition::Finite,
                _ => Definition::Unknown,
            };
        }
        for node in graph.nodes() {
            let op = OpName::of(node.callee);
            // A function that changes its argument also changes values that were defined before.
            if op.is_some_and(|op| op.in_place) {
                return Self::default();
            }
            values[node.value.index()] = op.map_or(Definition::Unknown, |op| definition(op.name, &node, &values));
        }
        let is_defined =
            |output: &&Arg| matches!(output, Arg::Value(value) if values[value.index()] == Definition::Finite);
        let outputs = graph.outputs().iter().enumerate().take(64);
        Self(outputs.filter(|(_, output)| is_defined(output)).fold(0, |set, (number, _)| set | 1 << number))
    }

    pub(super) const fn contains(self, output: usize) -> bool {
        output < 64 && self.0 >> output & 1 == 1
    }
}

fn definition(name: &str, node: &Node<'_>, values: &[Definition]) -> Definition {
    let of = |value: ValueId| values[value.index()];
    let worst = node.operands().map(of).max().unwrap_or(Definition::Finite);
    // `view` with a type shows the bits of a NaN, which are not defined.
    let has_type = node.all_args().any(|arg| matches!(arg, Arg::DType(_)));
    match worst {
        Definition::Unknown => Definition::Unknown,
        Definition::Any if has_type => Definition::Unknown,
        // Zero by zero.
        _ if name == "truediv" => Definition::Any,
        _ if !node.kwargs.is_empty() && !OF_INTEGERS.contains(&name) => Definition::Unknown,
        _ if TESTS.contains(&name) => Definition::Finite,
        worst if ARITHMETIC.contains(&name) => worst,
        Definition::Finite if OF_INTEGERS.contains(&name) => Definition::Finite,
        _ => Definition::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use super::*;

    type Calls<'a> = &'a [(&'a str, &'a [Arg])];

    fn is_defined(dtype: DType, calls: Calls<'_>) -> bool {
        let mut builder = Graph::builder();
        let mut value = builder.input("x");
        for (number, (path, args)) in calls.iter().enumerate() {
            let args: Vec<Arg> = [value.into()].into_iter().chain(args.iter().copied()).collect();
            value = builder.call_function(&format!("v{number}"), path, &args, &[]);
        }
        let meta = TensorMeta {
            name: "x".to_owned(),
            original_name: None,
            shape: vec![4],
            dtype,
            device: "cpu".to_owned(),
            mean: None,
            std: None,
            data: None,
            min_val: None,
            max_val: None,
        };
        OutputSet::defined_for_nan(&builder.finish(&[value.into()]).unwrap(), &[meta]).contains(0)
    }

    /// A count of NaN that was always zero was accepted.
    #[test]
    fn only_tests_make_defined_integers_of_nan() {
        let zero = [Arg::Float(0.0)];
        let cases: [(Calls<'_>, bool); 11] = [
            (&[("torch.isnan", &[]), ("torch.sum", &[Arg::Int(-1)])], true),
            (&[("torch.abs", &[]), ("operator.gt", &zero), ("operator.add", &[Arg::Int(1)])], true),
            (&[("operator.gt", &zero), ("operator.iadd", &[Arg::Int(1)])], false),
            (&[("torch.argmax", &[])], false),
            (&[("torch.isnan", &[]), ("torch.argmax", &[])], false),
            (&[("torch.sum", &[]), ("operator.gt", &zero)], false),
            (&[("torch.bool", &[])], false),
            (&[("operator.truediv", &[Arg::Int(3)]), ("operator.gt", &zero)], true),
            (&[("torch.isnan", &[]), ("operator.truediv", &[Arg::Int(0)]), ("torch.long", &[])], false),
            (&[("torch.view", &[Arg::DType(DType::Int32)]), ("operator.gt", &zero)], false),
            (&[], false),
        ];
        for (calls, expected) in cases {
            assert_eq!(is_defined(DType::Float32, calls), expected, "{calls:?}");
        }
        assert!(is_defined(DType::Int64, &[("torch.sum", &[])]) && !is_defined(DType::Complex64, &[]));
    }
}
