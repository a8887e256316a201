//! Properties of a graph that decide which values its inputs get.

use passnet_graph::{Arg, Graph, Node, ops::OpName};
use passnet_record::TensorMeta;

use crate::{
    indices::{Indices, indices_of},
    quantities::{Quantity, quantities_of},
    rows,
    rule::{has_float_parts, is_drawn},
    steps,
};

/// Largest number of integers that are used.
const MOST_INTEGERS: usize = 48;

/// Names of functions and methods that compare.
const COMPARISONS: &[&str] = &["eq", "ne", "lt", "le", "gt", "ge", "isin"];

/// Construction of random values. Both have the same distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Construction {
    /// The rules as published: one variate for each value, imaginary parts are zero. `paper` mode draws its checked round in this way.
    #[default]
    Published,
    /// Values of timed calls in `sound` mode: sums of two parts, and random imaginary parts.
    Timed,
}

/// Properties of a graph, and the construction of the values of its inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphFacts {
    /// Floating-point numbers among the arguments at which the graph may decide.
    pub(crate) floats: Vec<f64>,
    /// Integers among the arguments, and their neighbours.
    pub(crate) integers: Vec<i64>,
    /// Inputs that are neither indices nor sizes nor dimensions, as far as integers go.
    pub(crate) quantities: Vec<Quantity>,
    /// Inputs that are indices of tables of known sizes.
    pub(crate) indices: Vec<Indices>,
    /// Construction of the values of all inputs.
    pub construction: Construction,
}

impl GraphFacts {
    /// Returns the properties of a graph whose inputs have these metadata.
    pub fn of(graph: &Graph, metas: &[TensorMeta], construction: Construction) -> Self {
        Self {
            floats: steps::constants_of(graph),
            integers: integers_of(graph),
            quantities: quantities_of(graph, metas),
            indices: indices_of(graph, metas),
            construction,
        }
    }
}

/// Properties of all inputs of a graph. Some contents of an input depend on the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AllInputs<'a> {
    pub(crate) metas: &'a [TensorMeta],
    /// Number of valid indices in all dimensions.
    pub(crate) indices: i64,
    /// True if a tensor of random values has more than one row.
    pub(crate) has_rows: bool,
    pub(crate) facts: &'a GraphFacts,
}

impl<'a> AllInputs<'a> {
    /// Returns what the inputs with these metadata, in the order of the graph, have in common.
    pub fn of(metas: &'a [TensorMeta], facts: &'a GraphFacts) -> Self {
        Self {
            metas,
            indices: common_indices(metas),
            has_rows: metas.iter().any(|meta| is_drawn(meta) && rows::has_rows(meta)),
            facts,
        }
    }
}

/// Returns the number of valid indices of every dimension of the tensors with more than one element, up to 100. At least 2.
pub(crate) fn common_indices(metas: &[TensorMeta]) -> i64 {
    let sizes = metas.iter().filter(|meta| has_float_parts(meta.dtype)).flat_map(|meta| &meta.shape);
    sizes.filter(|&&size| size > 1).min().map_or(2, |&size| size.min(100).cast_signed())
}

/// Returns the integer arguments of a graph and their neighbours: numbers of padding tokens, bounds of comparisons, and others. Those of
/// comparisons come first.
fn integers_of(graph: &Graph) -> Vec<i64> {
    let mut integers = Vec::new();
    let compares = |node: &Node<'_>| OpName::of(node.callee).is_some_and(|op| COMPARISONS.contains(&op.name));
    let (first, others): (Vec<_>, Vec<_>) = graph.nodes().partition(compares);
    for arg in first.iter().chain(&others).flat_map(|node| node.all_args()) {
        let Arg::Int(value) = arg else { continue };
        for near in [value, value.saturating_sub(1), value.saturating_add(1)] {
            if !integers.contains(&near) {
                integers.push(near);
            }
        }
    }
    integers.truncate(MOST_INTEGERS);
    integers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_comparisons_come_first() {
        let mut builder = Graph::builder();
        let input = builder.input("x");
        let sum = builder.call_function("sum", "torch.add", &[input.into(), Arg::Int(40)], &[]);
        let mask = builder.call_method("mask", "ne", &[sum.into(), Arg::Int(1)], &[]);
        let facts = GraphFacts::of(&builder.finish(&[mask.into()]).unwrap(), &[], Construction::Timed);
        assert_eq!(facts.integers, [1, 0, 2, 40, 39, 41]);
    }
}
