//! Predicted times of a region and of its replacement, from calls, bytes and elements.

use std::{collections::BTreeSet, fmt};

use passnet_graph::{Graph, NodeId, Target, TensorType, TypedGraph, ValueId};
use passnet_record::DType;

use super::{
    region::{Region, RegionInput},
    stage::{Program, Role},
};
use crate::front::lower::{call::Call, storage::is_view_node};

/// Costs of calls and memory in nanoseconds, as measured on one H200 and on one core of a server CPU (`docs/results`).
struct Rates {
    /// A call of PyTorch that computes.
    op_ns: f64,
    /// Additional time of a convolution: the library looks up a plan for each call.
    convolution_ns: f64,
    /// A call that only makes a view.
    view_ns: f64,
    /// A call of a replacement function, with the look-up of its plan.
    call_ns: f64,
    /// Fresh memory for one result.
    memory_ns: f64,
    /// A launch of one kernel.
    launch_ns: f64,
    /// Bytes that a CPU or GPU reads or writes in its memory in a nanosecond: in eager mode, and in a kernel.
    bytes_per_ns: [f64; 2],
    /// Additional time of a byte beyond [`CACHE`], for fresh pages and memory outside of the cache.
    far_byte_ns: f64,
    /// An element of an operation: in eager mode on half types, and in a kernel on any type.
    element_ns: [f64; 2],
    /// An element of a half type in a kernel in addition.
    half_ns: f64,
    /// An element of a function such as `exp` in addition: in eager mode, and in a kernel.
    function_ns: [f64; 2],
    /// An element of an operation over windows in addition: in eager mode, and in a kernel.
    window_ns: [f64; 2],
    /// True if the host continues while kernels run.
    overlaps: bool,
}

const CUDA: Rates = Rates {
    op_ns: 6000.0,
    convolution_ns: 18_000.0,
    view_ns: 1500.0,
    call_ns: 1000.0,
    memory_ns: 1700.0,
    launch_ns: 4900.0,
    bytes_per_ns: [4000.0; 2],
    far_byte_ns: 0.0,
    element_ns: [0.0; 2],
    half_ns: 0.0,
    function_ns: [0.0; 2],
    window_ns: [0.0; 2],
    overlaps: true,
};

/// Fitted to passes by `benches/cpu/predictions.py`: the error is in `docs/results/cpu.md`.
const CPU: Rates = Rates {
    op_ns: 1900.0,
    convolution_ns: 0.0,
    view_ns: 750.0,
    call_ns: 550.0,
    memory_ns: 350.0,
    launch_ns: 150.0,
    bytes_per_ns: [50.0, 90.0],
    far_byte_ns: 0.033,
    element_ns: [0.1, 0.02],
    half_ns: 0.05,
    function_ns: [0.3, 0.17],
    // The second one is measured on kernels that store the elements of windows first.
    window_ns: [2.5, 0.6],
    overlaps: false,
};

/// Bytes that a cache of a CPU holds.
const CACHE: i64 = 16 << 20;

impl Rates {
    const fn of(target: Target) -> &'static Self {
        match target {
            Target::Cpu => &CPU,
            Target::Cuda => &CUDA,
        }
    }
}

/// Bytes that the region or its replacement moves, and its predicted time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prediction {
    pub(crate) bytes: i64,
    pub(crate) ns: f64,
}

impl Prediction {
    /// Creates a prediction. `host_ns` is the time of the host alone, `compute_ns` that of the arithmetic.
    fn new(host_ns: f64, bytes: i64, bytes_per_ns: f64, compute_ns: f64, rates: &Rates) -> Self {
        let far_ns = (bytes - CACHE).max(0) as f64 * rates.far_byte_ns;
        let device_ns = bytes as f64 / bytes_per_ns + far_ns + compute_ns;
        // Kernels of a device run while the host launches the next ones, so the slower of the two decides. On a CPU
        // the times add up.
        Self { bytes, ns: if rates.overlaps { host_ns.max(device_ns) } else { host_ns + device_ns } }
    }
}

/// Costs of a region in eager mode and of its replacement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gain {
    pub(crate) eager: Prediction,
    pub(crate) fused: Prediction,
}

impl Gain {
    /// Predicts the costs. `program` is the program of the replacement, if the replacement has kernels.
    pub(crate) fn of(typed: &TypedGraph, region: &Region, program: Option<&Program>, target: Target) -> Self {
        let rates = Rates::of(target);
        Self { eager: eager(typed, region, rates), fused: fused(typed, region, program, rates) }
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { eager, fused } = self;
        write!(f, "{} instead of {}, ", in_bytes(fused.bytes), in_bytes(eager.bytes))?;
        write!(f, "{:.1} us instead of {:.1} us", fused.ns / 1e3, eager.ns / 1e3)
    }
}

fn in_bytes(count: i64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

/// Elements that the operations of a region compute.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    all: i64,
    /// Elements of operations with an operand or a result of a half type.
    half: i64,
    /// Elements of functions such as `exp`.
    functions: i64,
    /// Elements of pooling and interpolation.
    windows: i64,
}

impl Work {
    fn of(typed: &TypedGraph, region: &Region) -> Self {
        let graph = typed.graph();
        let mut work = Self::default();
        for &id in region.nodes.iter().filter(|&&id| !is_view_node(typed, id)) {
            let node = graph.node(id);
            let result = typed.tensor(node.value);
            let operands = node.operands().filter_map(|value| typed.tensor(value)).filter(|_| !is_gather(graph, id));
            let types: Vec<&TensorType> = result.into_iter().chain(operands).collect();
            let numel = types.iter().map(|ty| ty.numel()).max().unwrap_or(0);
            work.all += numel;
            if types.iter().any(|ty| matches!(ty.dtype, DType::Float16 | DType::BFloat16)) {
                work.half += numel;
            }
            match Call::of(graph, node).and_then(|call| call.op()) {
                Some(op) if op.is_costly => work.functions += numel,
                Some(op) if op.is_windowed => work.windows += numel,
                _ => {}
            }
        }
        work
    }

    /// Returns the time of eager mode (`side` 0) or of a kernel (1), in nanoseconds. `elements` is the number of elements that
    /// cost `element_ns`.
    fn ns(&self, elements: i64, side: usize, rates: &Rates) -> f64 {
        elements as f64 * rates.element_ns[side]
            + self.functions as f64 * rates.function_ns[side]
            + self.windows as f64 * rates.window_ns[side]
    }
}

fn eager(typed: &TypedGraph, region: &Region, rates: &Rates) -> Prediction {
    let graph = typed.graph();
    let nbytes = |value: ValueId| typed.tensor(value).map_or(0, |ty| ty.nbytes());
    let work = Work::of(typed, region);
    let compute_ns = work.ns(work.half, 0, rates);
    let (mut host_ns, mut bytes) = (0.0, 0);
    for &id in &region.nodes {
        if is_view_node(typed, id) {
            host_ns += rates.view_ns;
            continue;
        }
        host_ns += rates.op_ns;
        let node = graph.node(id);
        if Call::of(graph, node).and_then(|call| call.op()).is_some_and(|op| op.is_convolution) {
            host_ns += rates.convolution_ns;
        }
        // A set, because `x * x` reads its operand once.
        let operands: BTreeSet<ValueId> = node.operands().collect();
        // A gather reads a few rows of its table. Counting the whole table would make each embedding look expensive.
        let most = if is_gather(graph, id) { nbytes(node.value) } else { i64::MAX };
        bytes += nbytes(node.value) + operands.into_iter().map(|value| nbytes(value).min(most)).sum::<i64>();
    }
    Prediction::new(host_ns, bytes, rates.bytes_per_ns[0], compute_ns, rates)
}

fn fused(typed: &TypedGraph, region: &Region, program: Option<&Program>, rates: &Rates) -> Prediction {
    let (mut host_ns, mut bytes, mut compute_ns) = (rates.call_ns, 0, 0.0);
    if let Some(program) = program {
        host_ns += rates.launch_ns * program.stages.len() as f64;
        let work = Work::of(typed, region);
        compute_ns = work.ns(work.all, 1, rates) + work.half as f64 * rates.half_ns;
        for (number, buffer) in program.buffers.iter().enumerate() {
            let (nbytes, is_fresh) = match &buffer.role {
                Role::Input => (bytes_read(typed, region, &region.inputs[number]), false),
                // Read and written, as temporaries are.
                Role::Updated => (2 * region.inputs[number].ty.nbytes(), false),
                Role::Output(ty) => (ty.nbytes(), true),
                Role::Temporary(numel) => (2 * numel * buffer.dtype.size() as i64, true),
            };
            bytes += nbytes;
            host_ns += if is_fresh { rates.memory_ns } else { 0.0 };
        }
    } else {
        // A view in a prepared call costs half of one in eager mode.
        host_ns += 0.5 * rates.view_ns * region.outputs.len() as f64;
    }
    Prediction::new(host_ns, bytes, rates.bytes_per_ns[1], compute_ns, rates)
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
