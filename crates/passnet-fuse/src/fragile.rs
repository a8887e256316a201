//! Reductions whose roundings later operations enlarge: they stay with PyTorch.
//!
//! A sum in another order than PyTorch's differs in the last places of `float32`. Where the result is stored in a half type,
//! one value in some thousands falls to the other side of a rounding, which every tolerance allows. A sum or difference that is
//! small against such values, or the same value in a wider type, is held to more than that. So is, in any type, the difference of
//! a normalised tensor and its own average over windows: what both have in common cancels, and their roundings stay. And so is,
//! on CUDA, what goes into a convolution, which rounds `float32` to the ten bits of TF32.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{NodeId, ValueId};
use passnet_record::DType;

use crate::{author::Target, lower::Call, region::is_view_node, typed::TypedGraph};

/// Operations that add up many values in an order of their own.
const REDUCTIONS: &[&str] = &[
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "group_norm",
    "layer_norm",
    "mean",
    "norm",
    "normalize",
    "rms_norm",
    "softmax",
    "sum",
];

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
    "avg_pool2d",
];

/// Most elements that go into a convolution of which hardly one falls to the other side of a rounding to TF32, one in some
/// thousands.
const MOST_CONVOLVED: i64 = 4096;

/// Nodes of a graph that must give PyTorch's own bits, for its results to be within tolerance.
pub(crate) fn fragile(typed: &TypedGraph, target: Target) -> BTreeSet<NodeId> {
    let graph = typed.graph();
    let mut fragile = BTreeSet::new();
    // Which reductions' roundings a value carries.
    let mut carried: BTreeMap<ValueId, BTreeSet<NodeId>> = BTreeMap::new();
    for node in graph.nodes() {
        let (Some(call), Some(ty)) = (Call::of(graph, node), typed.tensor(node.value)) else { continue };
        let mut tensors: Vec<ValueId> = Vec::new();
        for arg in node.all_args() {
            graph.for_each_value(arg, &mut |value| tensors.extend(typed.tensor(value).map(|_| value)));
        }
        let of = |value: &ValueId| carried.get(value).cloned().unwrap_or_default();
        let operands: BTreeSet<NodeId> = tensors.iter().flat_map(of).collect();
        if REDUCTIONS.contains(&call.name) {
            if ty.dtype.is_float() {
                carried.insert(node.value, BTreeSet::from([node.id]));
            }
        } else if matches!(call.name, "add" | "sub") && tensors.len() > 1 {
            // Sums of what a softmax gives are no differences: it gives nothing below 0.
            let is_positive =
                |node: &NodeId| Call::of(graph, graph.node(*node)).is_some_and(|call| call.name == "softmax");
            let cancels = |node: &NodeId| call.name == "sub" && tensors.iter().all(|value| of(value).contains(node));
            let is_seen =
                |node: &NodeId| is_in_half(typed, *node) && (call.name == "sub" || !is_positive(node)) || cancels(node);
            fragile.extend(operands.into_iter().filter(is_seen));
        } else if target == Target::Cuda && matches!(call.name, "conv1d" | "conv2d" | "conv3d") {
            let convolved = tensors.first().filter(|&&value| {
                typed.tensor(value).is_some_and(|ty| ty.dtype == DType::Float32 && ty.numel() > MOST_CONVOLVED)
            });
            fragile.extend(convolved.iter().flat_map(|value| of(value)));
        } else if PROPORTIONAL.contains(&call.name) || is_view_node(typed, node.id) {
            carried.insert(node.value, operands);
        }
    }
    for &output in graph.outputs() {
        graph.for_each_value(output, &mut |value| {
            if typed.tensor(value).is_some_and(|ty| !is_half(ty.dtype)) {
                let of = carried.get(&value).into_iter().flatten();
                fragile.extend(of.filter(|node| is_in_half(typed, **node)));
            }
        });
    }
    fragile
}

fn is_in_half(typed: &TypedGraph, node: NodeId) -> bool {
    typed.tensor(typed.graph().value_of(node)).is_some_and(|ty| is_half(ty.dtype))
}

const fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16)
}
