//! Reductions whose roundings later operations enlarge: they stay with PyTorch.
//!
//! A sum in another order than PyTorch's differs in the last places of `float32`. Where the result is stored in a half type,
//! one value in some thousands falls to the other side of a rounding, which every tolerance allows. A sum or difference that is
//! small against such values, or the same value in a wider type, is held to more than that.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{NodeId, ValueId};
use passnet_record::DType;

use crate::{lower::Call, region::is_view_node, typed::TypedGraph};

/// Operations that add up many values in an order of their own.
const REDUCTIONS: &[&str] =
    &["adaptive_avg_pool1d", "adaptive_avg_pool2d", "group_norm", "layer_norm", "mean", "softmax", "sum"];

/// Operations that keep a relative error about as it is.
const PROPORTIONAL: &[&str] = &[
    "contiguous",
    "clone",
    "detach",
    "dropout",
    "to",
    "type",
    "type_as",
    "float",
    "half",
    "bfloat16",
    "mul",
    "truediv",
    "div",
    "neg",
    "abs",
    "relu",
    "leaky_relu",
    "sigmoid",
    "silu",
    "gelu",
    "tanh",
    "cat",
    "stack",
    "where",
    "masked_fill",
    "roll",
];

/// Nodes of a graph that must give PyTorch's own bits, for its results to be within tolerance.
pub(crate) fn fragile(typed: &TypedGraph) -> BTreeSet<NodeId> {
    let graph = typed.graph();
    let mut fragile = BTreeSet::new();
    // Which reductions' roundings a value carries.
    let mut carried: BTreeMap<ValueId, BTreeSet<NodeId>> = BTreeMap::new();
    for node in graph.nodes() {
        let (Some(call), Some(ty)) = (Call::of(graph, node), typed.tensor(node.value)) else { continue };
        let mut tensors = 0;
        let mut operands: BTreeSet<NodeId> = BTreeSet::new();
        for arg in node.all_args() {
            graph.for_each_value(arg, &mut |value| {
                tensors += usize::from(typed.tensor(value).is_some());
                operands.extend(carried.get(&value).into_iter().flatten());
            });
        }
        if REDUCTIONS.contains(&call.name) {
            if is_half(ty.dtype) {
                carried.insert(node.value, BTreeSet::from([node.id]));
            }
        } else if matches!(call.name, "add" | "sub") && tensors > 1 {
            // Sums of what a softmax gives are no differences: it gives nothing below 0.
            let is_positive =
                |node: &NodeId| Call::of(graph, graph.node(*node)).is_some_and(|call| call.name == "softmax");
            fragile.extend(operands.into_iter().filter(|node| call.name == "sub" || !is_positive(node)));
        } else if PROPORTIONAL.contains(&call.name) || is_view_node(typed, node.id) {
            carried.insert(node.value, operands);
        }
    }
    for &output in graph.outputs() {
        graph.for_each_value(output, &mut |value| {
            if typed.tensor(value).is_some_and(|ty| !is_half(ty.dtype)) {
                fragile.extend(carried.get(&value).into_iter().flatten());
            }
        });
    }
    fragile
}

const fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16)
}
