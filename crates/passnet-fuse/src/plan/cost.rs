//! Costs of a region and of its replacement: calls, bytes and elements.

use std::{collections::BTreeSet, fmt};

use passnet_graph::{Graph, NodeId, Target, TensorType, TypedGraph, ValueId};
use passnet_record::{CallCosts, DType, RegionCosts};

use super::{
    rates::{predicted_ns, rates_of},
    region::{Region, RegionInput},
    stage::{Program, Role},
};
use crate::front::lower::{call::Call, storage::is_view_node};

/// Costs of a region in eager mode and of its replacement.
#[derive(Clone, Debug)]
pub(crate) struct Gain {
    pub(crate) eager: RegionCosts,
    pub(crate) fused: RegionCosts,
    target: Target,
}

impl Gain {
    /// Counts the costs. `program` is the program of the replacement, if the replacement has kernels.
    pub(crate) fn of(typed: &TypedGraph, region: &Region, program: Option<&Program>, target: Target) -> Self {
        Self { eager: eager(typed, region), fused: fused(typed, region, program), target }
    }

    /// Returns the predicted time of eager mode in nanoseconds.
    pub(crate) fn eager_ns(&self) -> f64 {
        let rates = rates_of(self.target);
        predicted_ns(rates, &rates.eager, &self.eager)
    }

    /// Returns the predicted time of the replacement in nanoseconds.
    pub(crate) fn fused_ns(&self) -> f64 {
        let rates = rates_of(self.target);
        predicted_ns(rates, &rates.fused, &self.fused)
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |costs: &RegionCosts| in_bytes(costs.calls.iter().map(|call| call.bytes).sum());
        write!(f, "{} instead of {}, ", bytes(&self.fused), bytes(&self.eager))?;
        write!(f, "{:.1} us instead of {:.1} us", self.fused_ns() / 1e3, self.eager_ns() / 1e3)
    }
}

fn in_bytes(count: i64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

/// Returns the work of an operation in eager mode.
fn work(typed: &TypedGraph, id: NodeId) -> CallCosts {
    let graph = typed.graph();
    let node = graph.node(id);
    let nbytes = |value: ValueId| typed.tensor(value).map_or(0, |ty| ty.nbytes());
    let result = typed.tensor(node.value);
    let operands = node.operands().filter_map(|value| typed.tensor(value)).filter(|_| !is_gather(graph, id));
    let types: Vec<&TensorType> = result.into_iter().chain(operands).collect();
    let numel = types.iter().map(|ty| ty.numel()).max().unwrap_or(0);
    let is_half = |ty: &TensorType| matches!(ty.dtype, DType::Float16 | DType::BFloat16);
    // A set, because `x * x` reads its operand once.
    let read: BTreeSet<ValueId> = node.operands().collect();
    // A gather reads a few rows of its table. Counting the whole table would make each embedding look expensive.
    let most = if is_gather(graph, id) { nbytes(node.value) } else { i64::MAX };
    let bytes = nbytes(node.value) + read.into_iter().map(|value| nbytes(value).min(most)).sum::<i64>();
    let mut work = CallCosts { bytes, elements: numel, ..CallCosts::default() };
    if types.iter().any(|ty| is_half(ty)) {
        work.half_elements = numel;
    }
    let Some(op) = Call::of(graph, node).and_then(|call| call.op()) else { return work };
    if op.is_product {
        let count = multiplications(op.is_convolution, &types);
        *(if result.is_some_and(is_half) { &mut work.half_products } else { &mut work.products }) = count;
    }
    work.convolutions = i64::from(op.is_convolution);
    if op.is_costly {
        work.functions = numel;
    } else if op.is_windowed {
        work.windows = numel;
    }
    work
}

/// Returns the number of multiplications of a product. `types` are those of the result and of the operands.
fn multiplications(is_convolution: bool, types: &[&TensorType]) -> i64 {
    let [result, rest @ ..] = types else { return 0 };
    let factors: Vec<&TensorType> = rest.iter().copied().filter(|ty| ty.shape.len() > 1).collect();
    // The factors come after the tensor that `addmm` adds.
    let terms = match factors.as_slice() {
        [_, weight] if is_convolution => weight.shape[1..].iter().product(),
        [.., first, _] => first.shape.last().copied().unwrap_or(1),
        _ => 1,
    };
    result.numel() * terms
}

fn eager(typed: &TypedGraph, region: &Region) -> RegionCosts {
    let (views, computed): (Vec<NodeId>, Vec<NodeId>) =
        region.nodes.iter().copied().partition(|&node| is_view_node(typed, node));
    let calls = computed.into_iter().map(|node| work(typed, node)).collect();
    RegionCosts { views: views.len() as i64, tensors: 0, calls }
}

fn fused(typed: &TypedGraph, region: &Region, program: Option<&Program>) -> RegionCosts {
    let Some(program) = program else {
        return RegionCosts { views: region.outputs.len() as i64, ..RegionCosts::default() };
    };
    let mut costs = RegionCosts { calls: vec![CallCosts::default(); program.stages.len()], ..RegionCosts::default() };
    let Some(first) = costs.calls.first_mut() else { return costs };
    for &node in region.nodes.iter().filter(|&&node| !is_view_node(typed, node)) {
        let work = work(typed, node);
        first.elements += work.elements;
        first.half_elements += work.half_elements;
        first.functions += work.functions;
        first.windows += work.windows;
        first.half_products += work.half_products;
        first.products += work.products;
        first.convolutions += work.convolutions;
    }
    for (number, buffer) in program.buffers.iter().enumerate() {
        first.bytes += match &buffer.role {
            Role::Input => bytes_read(typed, region, &region.inputs[number]),
            // Read and written, as temporaries are.
            Role::Updated => 2 * region.inputs[number].ty.nbytes(),
            Role::Output(ty) => ty.nbytes(),
            Role::Temporary(numel) => 2 * numel * buffer.dtype.size() as i64,
        };
        costs.tensors += i64::from(matches!(buffer.role, Role::Output(_) | Role::Temporary(_)));
    }
    costs
}

/// Returns the number of bytes that a region reads of an input.
fn bytes_read(typed: &TypedGraph, region: &Region, input: &RegionInput) -> i64 {
    let graph = typed.graph();
    let mut most = 0;
    for &node in &region.nodes {
        if graph.node(node).operands().any(|value| value == input.value) {
            let result = typed.tensor(graph.node(node).value).map_or(0, |ty| ty.nbytes());
            most = most.max(if is_gather(graph, node) { result } else { i64::MAX });
        }
    }
    input.ty.nbytes().min(most)
}

/// Returns whether an operation reads about as much as it writes, independent of the size of its table.
fn is_gather(graph: &Graph, node: NodeId) -> bool {
    let call = Call::of(graph, graph.node(node)).filter(|call| !call.in_place);
    call.and_then(|call| call.op()).is_some_and(|op| op.is_gather)
}
