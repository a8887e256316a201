//! Integer inputs that are indices of tables of known sizes.

use passnet_graph::{Arg, Graph, Node, ValueId, ops::OpName};
use passnet_record::{DType, TensorMeta};

use crate::quantities::is_description;

/// One of this number of indices is that of the last row of a table.
const INDICES_PER_LAST: u32 = 8;

/// Functions whose result has the elements of their first argument, or some of them, in other places or of another type.
const MOVES: &[&str] = &[
    "view",
    "reshape",
    "flatten",
    "expand",
    "expand_as",
    "broadcast_to",
    "view_as",
    "unsqueeze",
    "squeeze",
    "transpose",
    "permute",
    "t",
    "contiguous",
    "clone",
    "detach",
    "long",
    "int",
    "to",
    "type",
    "type_as",
    "repeat",
    "narrow",
    "select",
    "flip",
    "roll",
];
/// Functions whose results are bools.
const ANSWERS: &[&str] = &["eq", "ne", "lt", "le", "gt", "ge", "isin"];
/// Functions of one tensor whose result has its shape, if all other arguments are numbers.
const SAME_SHAPE: &[&str] = &[
    "abs",
    "add",
    "bfloat16",
    "clamp",
    "clone",
    "contiguous",
    "detach",
    "div",
    "dropout",
    "exp",
    "float",
    "gelu",
    "half",
    "layer_norm",
    "log",
    "mul",
    "neg",
    "normalize",
    "pow",
    "relu",
    "rsub",
    "sigmoid",
    "silu",
    "softmax",
    "sqrt",
    "square",
    "sub",
    "tanh",
    "to",
    "truediv",
];
/// Functions of a tensor, a dimension, and indices along it.
const ALONG_A_DIMENSION: &[&str] =
    &["gather", "index_add", "index_copy", "index_fill", "index_select", "scatter", "scatter_add", "scatter_reduce"];

/// Input of indices, and the number of rows that all its tables have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Indices {
    pub(crate) name: String,
    pub(crate) rows: i64,
}

impl Indices {
    /// Returns a valid index: any one, and often the last one.
    pub(crate) fn value(&self, [choice, low, high, _]: [u32; 4]) -> i64 {
        if choice.is_multiple_of(INDICES_PER_LAST) {
            return self.rows - 1;
        }
        let word = u64::from(low) | u64::from(high >> 1) << 32;
        ((u128::from(word) * self.rows as u128) >> 63) as i64
    }
}

/// Returns the inputs of integers that are indices of tables of known sizes, and nothing else that bounds them.
pub(crate) fn indices_of(graph: &Graph, metas: &[TensorMeta]) -> Vec<Indices> {
    let of_input = |name: &str| metas.iter().find(|meta| meta.name == name);
    let inputs = graph.inputs().zip(graph.input_names());
    let shapes = shapes_of(graph, metas);
    let indices = |(input, name): (ValueId, &str)| {
        let is_index = matches!(of_input(name)?.dtype, DType::Int32 | DType::Int64);
        let rows = is_index.then(|| rows_of(graph, input, &shapes)).flatten()?;
        Some(Indices { name: name.to_owned(), rows })
    };
    inputs.filter_map(indices).collect()
}

/// Returns the shapes of inputs, and of results that have the shape of one input.
fn shapes_of<'a>(graph: &Graph, metas: &'a [TensorMeta]) -> Vec<Option<&'a [u64]>> {
    let mut shapes = vec![None; graph.num_values()];
    for (input, name) in graph.inputs().zip(graph.input_names()) {
        shapes[input.index()] = metas.iter().find(|meta| meta.name == name).map(|meta| meta.shape.as_slice());
    }
    for node in graph.nodes() {
        let mut operands = node.operands();
        if let (Some(operand), None) = (operands.next(), operands.next())
            && OpName::of(node.callee).is_some_and(|op| SAME_SHAPE.contains(&op.name))
        {
            shapes[node.value.index()] = shapes[operand.index()];
        }
    }
    shapes
}

/// Returns the number of rows that all tables have in which an input chooses rows. `None` if there are none, or if the input may be used
/// in another way.
fn rows_of(graph: &Graph, input: ValueId, shapes: &[Option<&[u64]>]) -> Option<i64> {
    let mut is_index = vec![false; graph.num_values()];
    is_index[input.index()] = true;
    let mut rows: Option<i64> = None;
    for node in graph.nodes() {
        let mut used = node.operands().filter(|value| is_index[value.index()]);
        let Some(index) = used.next() else { continue };
        if is_description(graph, &node) {
            continue;
        }
        if used.next().is_some() {
            return None;
        }
        let name = OpName::of(node.callee)?.name;
        let is_first = is_value(node.args.first().copied(), index);
        if ANSWERS.contains(&name) {
            continue;
        }
        if is_first && (MOVES.contains(&name) || name == "getitem") {
            is_index[node.value.index()] = true;
        } else {
            let found = table_rows(graph, &node, name, index, shapes)?;
            rows = Some(rows.map_or(found, |rows| rows.min(found)));
        }
    }
    rows.filter(|&rows| rows > 1)
}

/// Returns the number of rows of the table of a call in which a value chooses rows.
fn table_rows(graph: &Graph, node: &Node<'_>, name: &str, index: ValueId, shapes: &[Option<&[u64]>]) -> Option<i64> {
    let argument = |position: usize, keyword: &str| {
        let named = || node.kwargs.iter().find(|(name, _)| graph.str(*name) == keyword).map(|&(_, arg)| arg);
        node.args.get(position).copied().or_else(named)
    };
    let shape = |arg: Option<Arg>| if let Some(Arg::Value(value)) = arg { shapes[value.index()] } else { None };
    let size = match name {
        // Functions of `torch` and of `torch.nn.functional` differ in the order of arguments.
        "embedding" => {
            let (first, second) = (argument(0, "input"), argument(1, "weight"));
            *shape(if is_value(first, index) { second } else { first })?.first()?
        }
        "getitem" => {
            let table = shape(argument(0, ""))?;
            match argument(1, "")? {
                Arg::Value(_) => *table.first()?,
                Arg::Tuple(elements) => *table.get(dimension_of(graph.elements(elements), index)?)?,
                _ => return None,
            }
        }
        "take_along_dim" if is_value(argument(1, "indices"), index) => {
            dimension(shape(argument(0, "input"))?, argument(2, "dim")?)?
        }
        "cross_entropy" | "nll_loss" if is_value(argument(1, "target"), index) => {
            let scores = shape(argument(0, "input"))?;
            *scores.get(usize::from(scores.len() > 1))?
        }
        _ if ALONG_A_DIMENSION.contains(&name) && is_value(argument(2, "index"), index) => {
            dimension(shape(argument(0, "input"))?, argument(1, "dim")?)?
        }
        _ => return None,
    };
    i64::try_from(size).ok()
}

fn is_value(arg: Option<Arg>, value: ValueId) -> bool {
    matches!(arg, Some(Arg::Value(found)) if found == value)
}

/// Returns the size of a dimension of a shape.
fn dimension(shape: &[u64], dimension: Arg) -> Option<u64> {
    let Arg::Int(number) = dimension else { return None };
    let number = if number < 0 { number + shape.len() as i64 } else { number };
    shape.get(usize::try_from(number).ok()?).copied()
}

/// Returns the dimension that an element of a subscript chooses from; `None` behind `...` and values of unknown types.
fn dimension_of(elements: &[Arg], index: ValueId) -> Option<usize> {
    let mut dimension = 0;
    for &element in elements {
        match element {
            _ if is_value(Some(element), index) => return Some(dimension),
            Arg::Int(_) | Arg::Slice(_) => dimension += 1,
            Arg::None => {}
            // A mask of bools chooses from several dimensions.
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::meta;

    /// Returns the rows of input `x` in a graph with a table of 300 rows and 70 columns.
    fn rows(build: impl FnOnce(&mut passnet_graph::Builder, Arg, Arg) -> ValueId) -> Option<i64> {
        let mut builder = Graph::builder();
        let (x, table) = (builder.input("x"), builder.input("table"));
        let result = build(&mut builder, x.into(), table.into());
        let graph = builder.finish(&[result.into()]).unwrap();
        let named = |name: &str, dtype, shape: &[u64]| TensorMeta { name: name.to_owned(), ..meta(dtype, shape) };
        let metas = [named("x", DType::Int64, &[4, 8]), named("table", DType::Float32, &[300, 70])];
        indices_of(&graph, &metas).first().map(|indices| indices.rows)
    }

    #[test]
    fn tables_bound_their_indices() {
        let two = |path: &'static str, is_first: bool| {
            rows(|builder, x, table| {
                builder.call_function("y", path, &if is_first { [x, table] } else { [table, x] }, &[])
            })
        };
        assert_eq!(two("torch.nn.functional.embedding", true), Some(300));
        assert_eq!(two("torch.embedding", false), Some(300));
        assert_eq!(two("operator.getitem", false), Some(300));
        assert_eq!(two("torch.nn.functional.cross_entropy", false), Some(70));
        // Sums of indices may be indices of something else.
        assert_eq!(two("operator.add", true), None);
        for (dim, expected) in [(0, 300), (1, 70), (-1, 70), (-2, 300)] {
            let select = rows(|builder, x, table| {
                builder.call_function("y", "torch.index_select", &[table, Arg::Int(dim), x], &[])
            });
            assert_eq!(select, Some(expected), "{dim}");
        }
        let unknown =
            rows(|builder, x, table| builder.call_function("y", "torch.index_select", &[table, Arg::Int(2), x], &[]));
        assert_eq!(unknown, None);
    }

    #[test]
    fn indices_are_followed_through_views_and_tables_through_functions() {
        let found = rows(|builder, x, table| {
            let scaled = builder.call_function("scaled", "operator.mul", &[table, Arg::Float(2.0)], &[]).into();
            let flat = builder.call_method("flat", "view", &[x, Arg::Int(-1)], &[]).into();
            let padding = builder.call_method("padding", "ne", &[flat, Arg::Int(1)], &[]).into();
            let y = builder.call_function("y", "torch.nn.functional.embedding", &[flat, scaled], &[]).into();
            builder.call_function("z", "operator.mul", &[y, padding], &[])
        });
        assert_eq!(found, Some(300));
        // The second table has fewer rows.
        let two = rows(|builder, x, table| {
            let a = builder.call_function("a", "torch.index_select", &[table, Arg::Int(0), x], &[]).into();
            let b = builder.call_function("b", "torch.index_select", &[table, Arg::Int(1), x], &[]).into();
            builder.call_function("z", "torch.mm", &[a, b], &[])
        });
        assert_eq!(two, Some(70));
        let moved = rows(|builder, x, table| {
            let moved = builder.call_function("moved", "operator.add", &[x, Arg::Int(2)], &[]).into();
            builder.call_function("y", "torch.nn.functional.embedding", &[moved, table], &[])
        });
        assert_eq!(moved, None);
    }

    #[test]
    fn subscripts_of_several_elements() {
        let found = |before: &'static [Option<Arg>]| {
            rows(|builder, x, table| {
                let elements: Vec<Arg> = before.iter().map(|arg| arg.unwrap_or(x)).collect();
                let subscript = builder.tuple(&elements);
                builder.call_function("y", "operator.getitem", &[table, subscript], &[])
            })
        };
        assert_eq!(found(&[None]), Some(300));
        assert_eq!(found(&[Some(Arg::Int(3)), None]), Some(70));
        assert_eq!(found(&[Some(Arg::None), None]), Some(300));
        assert_eq!(found(&[Some(Arg::Ellipsis), None]), None);
    }

    proptest! {
        #[test]
        fn indices_are_valid(rows in 2..i64::MAX, words: [u32; 4]) {
            let value = Indices { name: String::new(), rows }.value(words);
            prop_assert!((0..rows).contains(&value), "{}", value);
        }
    }
}
