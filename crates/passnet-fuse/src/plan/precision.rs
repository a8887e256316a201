//! Finds reductions and approximated functions whose rounding errors later operations enlarge; these stay with PyTorch.
//!
//! A sum in another order than PyTorch's differs in the last places of `float32`. If the result is stored in a half type,
//! about one value in some thousands rounds to the other neighbour. Every tolerance allows this. But all values computed
//! from the result carry the error on, also through library products, and these operations make it visible:
//!
//! * a sum or difference that is small compared to its operands;
//! * a function that enlarges relative errors;
//! * a conversion to a wider type, for which the tolerance is narrower;
//! * in any type, the difference between a normalised tensor and its own average over windows: the common part cancels,
//!   and the rounding errors remain;
//! * on CUDA, a convolution, which rounds its `float32` operands to the ten bits of TF32.
//!
//! `interpolate` between neighbours counts as a reduction: compilers choose which of its products and sums they round together. On a
//! CPU, sums of a half type are exact if each size is the old one times a power of 2, and PyTorch's general kernel has known roundings.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{Arg, NodeId, Target, TensorType, TypedGraph, ValueId};
use passnet_record::DType;

use crate::front::{
    constants::is_half,
    lower::{
        call::{Call, dimension},
        convolution::Convolution,
        interpolate::is_general_on_cpu,
        product::MOST_UNSPLIT,
    },
};

/// Largest number of elements that go into a convolution. Up to this number, it is unlikely that an element rounds to the other
/// neighbour in TF32 (one in some thousands does).
const MOST_CONVOLVED: i64 = 4096;

/// Largest number of elements of a product. Up to this number, it is unlikely that an element is small compared with a term that
/// rounded to the other neighbour.
const MOST_MULTIPLIED: i64 = 16_384;

/// Largest number of elements of a half type. Up to this number, it is unlikely that an element rounds to the other neighbour for
/// any of the inputs of an evaluation.
const MOST_UNSEEN: i64 = 32;

/// Roundings of a reduction that a value carries.
#[derive(Clone, Copy, Debug, Default)]
struct Trace {
    /// True if the value was stored in a half type after the reduction.
    in_half: bool,
    /// True if the value may be below 0.
    is_signed: bool,
}

/// Traces of a value, by reduction.
type Traces = BTreeMap<NodeId, Trace>;

/// Returns for each graph of a task the nodes that must stay with PyTorch, and those whose results must equal PyTorch's bit by
/// bit, so that the graph's results are within tolerance. A pass matches the same operations in all graphs: an operation that
/// must stay in one graph for its precision stays in all graphs with the same operations. The nodes in `left` stay in addition.
pub(crate) fn find_fragile_nodes(
    task: &[TypedGraph],
    target: Target,
    left: &BTreeMap<usize, BTreeSet<NodeId>>,
) -> Vec<BTreeSet<NodeId>> {
    let mut by_operations: BTreeMap<Vec<&str>, BTreeSet<NodeId>> = BTreeMap::new();
    for typed in task {
        let nodes = by_operations.entry(operations(typed)).or_default();
        nodes.extend(fragile_in(typed, target));
    }
    let fragile = |typed| by_operations.get(&operations(typed)).cloned().unwrap_or_default();
    // Nodes that are left stay in their own graph only. The dry run finds passes that would match them.
    let with_left = |(graph, typed)| fragile(typed).into_iter().chain(left.get(&graph).into_iter().flatten().copied());
    task.iter().enumerate().map(|place| with_left(place).collect()).collect()
}

fn operations(typed: &TypedGraph) -> Vec<&str> {
    typed.graph().nodes().map(|node| node.callee.target()).collect()
}

fn fragile_in(typed: &TypedGraph, target: Target) -> BTreeSet<NodeId> {
    let graph = typed.graph();
    let mut fragile = BTreeSet::new();
    let mut carried: BTreeMap<ValueId, Traces> = BTreeMap::new();
    for node in graph.nodes() {
        let Some(call) = Call::of(graph, node) else { continue };
        let (op, ty) = (call.op(), typed.tensor(node.value));
        // Integers and booleans have no roundings that a later operation could enlarge.
        if ty.is_some_and(|ty| !ty.dtype.is_float()) {
            continue;
        }
        let operand = |value| (typed.tensor(value), carried.get(&value).cloned().unwrap_or_default());
        let operands: Vec<(Option<&TensorType>, Traces)> = node.operands().map(operand).collect();
        let mut traces = joined(operands.iter().map(|(_, traces)| traces));
        fragile.extend(shown(&call, ty, target, &operands, &traces));
        if op.is_some_and(|op| op.is_product) {
            // A product with weights of any sign can be negative, although its factor was not.
            traces.values_mut().for_each(|trace| trace.is_signed = true);
        }
        let is_matrix = target == Target::Cuda
            && op.is_some_and(|op| op.is_product)
            && ty.is_some_and(|ty| !has_known_sums(typed, &call, node.operands(), ty));
        let is_approximated = target == Target::Cpu && op.is_some_and(|op| op.is_approximated);
        let is_weighted =
            is_interpolated(&call) && !(target == Target::Cpu && has_known_sums_of_neighbours(&call, &operands, ty));
        if op.is_some_and(|op| op.is_reduction) || is_approximated || is_matrix || is_weighted {
            traces.insert(node.id, Trace { in_half: false, is_signed: !op.is_some_and(|op| op.is_non_negative) });
        }
        let is_rounded_twice = target == Target::Cpu && (is_reciprocal_root(&call) || is_softmax_of_columns(&call, ty));
        if is_rounded_twice && ty.is_some_and(|ty| is_half(ty.dtype)) {
            traces.insert(node.id, Trace { in_half: true, is_signed: false });
        }
        if ty.is_some_and(|ty| is_half(ty.dtype) && ty.numel() > MOST_UNSEEN) {
            traces.values_mut().for_each(|trace| trace.in_half = true);
        }
        carried.insert(node.value, traces);
    }
    for value in graph.output_values() {
        if typed.tensor(value).is_some_and(|ty| !is_half(ty.dtype)) {
            fragile.extend(carried.get(&value).iter().flat_map(|traces| in_half(traces)));
        }
    }
    fragile
}

/// Returns the reductions whose rounding errors an operation makes visible, given the traces of each operand and of all operands
/// together.
fn shown(
    call: &Call<'_>,
    ty: Option<&TensorType>,
    target: Target,
    operands: &[(Option<&TensorType>, Traces)],
    traces: &Traces,
) -> Vec<NodeId> {
    let tensors: Vec<(&TensorType, &Traces)> =
        operands.iter().filter_map(|(ty, traces)| Some(((*ty)?, traces))).collect();
    let op = call.op();
    match call.name {
        "add" | "sub" if tensors.len() > 1 => {
            let is_seen = |(reduction, trace): &(&NodeId, &Trace)| {
                // Adding a value that is never below 0 cancels nothing.
                let is_difference = call.name == "sub" || trace.is_signed;
                // If both operands carry the same reduction, their common part cancels, in any type.
                let cancels = call.name == "sub" && tensors.iter().all(|(_, traces)| traces.contains_key(reduction));
                trace.in_half && is_difference || cancels
            };
            traces.iter().filter(is_seen).map(|(&reduction, _)| reduction).collect()
        }
        // In any type, because the common part of neighbours cancels, and an element next to a step differs by its height.
        "diff" | "round" | "frac" | "threshold" | "hardshrink" | "fmod" | "remainder" | "floor_divide" | "floordiv" => {
            traces.keys().copied().collect()
        }
        "div" if call.given(usize::MAX, "rounding_mode").is_some() => traces.keys().copied().collect(),
        _ if op.is_some_and(|op| op.amplifies_errors) => in_half(traces).collect(),
        _ if op.is_some_and(|op| op.is_product) => {
            let is_convolution = target == Target::Cuda && op.is_some_and(|op| op.is_convolution);
            let convolved = tensors
                .first()
                .filter(|(ty, _)| is_convolution && ty.dtype == DType::Float32 && ty.numel() > MOST_CONVOLVED);
            let is_large = ty.is_some_and(|ty| ty.numel() > MOST_MULTIPLIED);
            // The results of a softmax over many terms are small, and their rounding errors are even smaller.
            let multiplied = in_half(traces).filter(|reduction| is_large && traces[reduction].is_signed);
            convolved.iter().flat_map(|(_, traces)| traces.keys().copied()).chain(multiplied).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns whether a call computes 1 / sqrt(x). In half types, PyTorch rounds the root and its reciprocal for elements outside of vectors
/// (those of slices, and the last ones), so that every third of them rounds to the other neighbour.
fn is_reciprocal_root(call: &Call<'_>) -> bool {
    let is_root = |arg| matches!(arg, Arg::Float(exponent) if exponent == -0.5);
    call.name == "rsqrt" || call.name == "pow" && call.given(1, "exponent").is_some_and(is_root)
}

/// Returns whether a call is a softmax of another dimension than the last. In half types, PyTorch rounds the powers, too, for elements
/// outside of vectors, so that every fourth of them rounds to the other neighbour.
fn is_softmax_of_columns(call: &Call<'_>, ty: Option<&TensorType>) -> bool {
    let rank = ty.map_or(0, |ty| ty.shape.len());
    call.name == "softmax" && call.int(1, "dim").and_then(|dim| dimension(dim, rank)).is_some_and(|dim| dim + 1 < rank)
}

/// Returns whether the author's kernel for a CPU interpolates half types as PyTorch's does: if that is the general one, or if weights have
/// so few digits that sums with them are exact, in any order.
fn has_known_sums_of_neighbours(
    call: &Call<'_>,
    operands: &[(Option<&TensorType>, Traces)],
    ty: Option<&TensorType>,
) -> bool {
    let Some((ty, &(Some(from), _))) = ty.zip(operands.first()) else { return false };
    let is_general = matches!(*ty.shape, [_, _, rows, columns] if is_general_on_cpu(from, [rows, columns]));
    let is_power = |(&from, &to): (&i64, &i64)| from > 0 && to % from == 0 && (to / from).count_ones() == 1;
    let is_aligned = call.bool(4, "align_corners", false) != Some(false);
    let has_few_digits = !is_aligned && from.shape.iter().zip(&ty.shape).skip(2).all(is_power);
    is_half(ty.dtype) && (is_general || has_few_digits)
}

/// Returns whether a call computes means of neighbours, and does not only copy them.
fn is_interpolated(call: &Call<'_>) -> bool {
    let is_nearest = |mode| matches!(mode, Arg::Str(mode) if call.graph.str(mode).starts_with("nearest"));
    call.name == "interpolate" && call.given(3, "mode").is_some_and(|mode| !is_nearest(mode))
}

/// Returns whether the author's kernel for a product adds the terms in PyTorch's order. By measurement
/// (`benches/gpu/products.py`), it does for half types on matrix units if the library does not split the sums. The last
/// dimension of the first factor is as long as the sums of `linear` and `matmul`.
fn has_known_sums(
    typed: &TypedGraph,
    call: &Call<'_>,
    operands: impl Iterator<Item = ValueId>,
    result: &TensorType,
) -> bool {
    if call.op().is_some_and(|op| op.is_convolution) {
        // A convolution that the author does not express stays the library's.
        return Convolution::of(typed, call).is_none_or(|convolution| convolution.has_known_sums());
    }
    let factors: Vec<ValueId> = operands.collect();
    let terms = factors.first().and_then(|&value| typed.tensor(value)).and_then(|ty| ty.shape.last().copied());
    // With a bias, the library adds in another order (measured as well).
    is_half(result.dtype) && factors.len() == 2 && terms.is_some_and(|terms| terms <= MOST_UNSPLIT)
}

/// Returns the traces of a value that is computed from values with these traces.
fn joined<'t>(all: impl Iterator<Item = &'t Traces>) -> Traces {
    let mut joined = Traces::new();
    for (&reduction, trace) in all.flatten() {
        let known = joined.entry(reduction).or_default();
        known.in_half |= trace.in_half;
        known.is_signed |= trace.is_signed;
    }
    joined
}

fn in_half(traces: &Traces) -> impl Iterator<Item = NodeId> {
    traces.iter().filter(|(_, trace)| trace.in_half).map(|(&reduction, _)| reduction)
}
