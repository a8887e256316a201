//! The plan for a task in words: what became one call, why, and what that is expected to give.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use passnet_graph::{Graph, NodeId, Target, TypedGraph, ValueId};
use passnet_record::counted;

use crate::{
    back::tuning::{Choices, config_of},
    front::lower::{Lowering, call::Call, storage::is_view_node},
    plan::{
        config::Config,
        flow::live_nodes,
        precision::find_fragile_nodes,
        region::Input,
        select::plan_passes,
        site::{Replacement, Site},
        stage::Role,
    },
};

/// Costs of calls and memory in nanoseconds, as measured on one H200 and on one core of a server CPU (`docs/results`).
struct Rates {
    /// A call of PyTorch that computes.
    op_ns: f64,
    /// A convolution in addition: the library looks up a plan for each call.
    convolution_ns: f64,
    /// A call that only views.
    view_ns: f64,
    /// A call of a replacement function, what its plan looks up included.
    call_ns: f64,
    /// Fresh memory for one result.
    memory_ns: f64,
    /// A launch of one kernel.
    launch_ns: f64,
    /// Bytes that pass between CPU or GPU and its memory in a nanosecond.
    bytes_per_ns: f64,
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
    bytes_per_ns: 4000.0,
    overlaps: true,
};

const CPU: Rates = Rates {
    op_ns: 1500.0,
    convolution_ns: 0.0,
    view_ns: 700.0,
    call_ns: 1000.0,
    memory_ns: 1000.0,
    launch_ns: 500.0,
    bytes_per_ns: 10.0,
    overlaps: false,
};

/// Calls and bytes of a part of a graph.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    host_ns: f64,
    bytes: i64,
}

impl Cost {
    fn time_ns(self, rates: &Rates) -> f64 {
        let device = self.bytes as f64 / rates.bytes_per_ns;
        if rates.overlaps { self.host_ns.max(device) } else { self.host_ns + device }
    }
}

/// The plan for a task, graph by graph, as text. Times are predictions from bytes and calls alone, without the arithmetic.
pub fn explain(task: &[TypedGraph], target: Target, choices: &Choices) -> String {
    let groups = plan_passes(task, target, &BTreeMap::new());
    let fragile = find_fragile_nodes(task, target, &BTreeMap::new());
    let mut text = String::new();
    for (number, typed) in task.iter().enumerate() {
        let graph = typed.graph();
        let live = live_nodes(graph);
        let _ = writeln!(text, "graph {number}: {} operations", live.len());
        let mut replaced: BTreeSet<NodeId> = BTreeSet::new();
        let (mut before, mut after) = (0.0, 0.0);
        for (pass, sites) in groups.iter().enumerate() {
            for site in sites.iter().filter(|site| site.graph == number) {
                let rates = rates(site.target);
                let config = config_of(site, choices);
                let (eager, fused) = (eager(typed, site, rates), fused(typed, site, rates));
                before += eager.time_ns(rates);
                after += fused.time_ns(rates);
                replaced.extend(&site.region.nodes);
                let _ = write!(
                    text,
                    "  fuse_{pass}: {} as {}{}{}\n    {}\n    {} instead of {}; {:.1} us predicted instead of {:.1} us\n",
                    counted(site.region.nodes.len(), "operation"),
                    how(site),
                    if config == Config::default_for(site.target) {
                        String::new()
                    } else {
                        format!(" ({}, as measured)", config)
                    },
                    if site.target == target { "" } else { ", in host memory" },
                    names(graph, site.region.nodes.iter().copied()),
                    bytes(fused.bytes),
                    bytes(eager.bytes),
                    fused.time_ns(rates) / 1e3,
                    eager.time_ns(rates) / 1e3,
                );
            }
        }
        let stays: BTreeSet<NodeId> = live.difference(&replaced).copied().collect();
        text.push_str(&remaining(typed, target, &fragile[number], &stays));
        if !replaced.is_empty() {
            let _ = writeln!(text, "  predicted for what changes: {:.2} times as fast", before / after);
        }
    }
    text
}

/// The operations that stay, by reason. Those without a kernel are listed with the types of their tensors.
fn remaining(typed: &TypedGraph, target: Target, fragile: &BTreeSet<NodeId>, stays: &BTreeSet<NodeId>) -> String {
    let graph = typed.graph();
    let mut lowering = Lowering::new(typed, target);
    let expressed: BTreeSet<NodeId> = graph.nodes().filter_map(|node| lowering.lower(node).map(|()| node.id)).collect();
    let of = |reason: &dyn Fn(NodeId) -> bool| -> Vec<NodeId> {
        stays.iter().copied().filter(|&node| reason(node)).collect()
    };
    let is_view = |node: NodeId| is_view_node(typed, node);
    let is_expressed = |node: NodeId| expressed.contains(&node);
    let is_fragile = |node: NodeId| fragile.contains(&node);
    let mut text = String::new();
    for node in of(&|node| !is_view(node) && !is_expressed(node)) {
        let operands = graph.node(node).operands().filter_map(|value| typed.tensor(value));
        let operands: Vec<String> = operands.map(|ty| format!("{:?}{:?}", ty.dtype, ty.shape)).collect();
        let _ =
            writeln!(text, "  stays, without a kernel: {}({})", names(graph, [node].into_iter()), operands.join(", "));
    }
    let others: [(&str, Vec<NodeId>); 3] = [
        ("its roundings would show", of(&|node| !is_view(node) && is_expressed(node) && is_fragile(node))),
        ("nothing to gain", of(&|node| !is_view(node) && is_expressed(node) && !is_fragile(node))),
        ("a view", of(&is_view)),
    ];
    for (reason, nodes) in others.into_iter().filter(|(_, nodes)| !nodes.is_empty()) {
        let _ = writeln!(text, "  stays, {reason}: {}", names(graph, nodes.into_iter()));
    }
    text
}

const fn rates(target: Target) -> &'static Rates {
    match target {
        Target::Cpu => &CPU,
        Target::Cuda => &CUDA,
    }
}

fn eager(typed: &TypedGraph, site: &Site, rates: &Rates) -> Cost {
    let graph = typed.graph();
    let mut cost = Cost::default();
    for &node in &site.region.nodes {
        if is_view_node(typed, node) {
            cost.host_ns += rates.view_ns;
            continue;
        }
        cost.host_ns += rates.op_ns;
        let node = graph.node(node);
        if Call::of(graph, node).and_then(|call| call.op()).is_some_and(|op| op.is_convolution) {
            cost.host_ns += rates.convolution_ns;
        }
        let nbytes = |value: ValueId| typed.tensor(value).map_or(0, |ty| ty.nbytes());
        cost.bytes += nbytes(node.value);
        let operands: BTreeSet<ValueId> = node.operands().collect();
        let most = if is_gather(graph, node.id) { nbytes(node.value) } else { i64::MAX };
        cost.bytes += operands.into_iter().map(|value| nbytes(value).min(most)).sum::<i64>();
    }
    cost
}

/// Returns whether an operation reads about as much as it writes, independent of the size of its table.
fn is_gather(graph: &Graph, node: NodeId) -> bool {
    let call = Call::of(graph, graph.node(node)).filter(|call| !call.in_place);
    call.and_then(|call| call.op()).is_some_and(|op| op.is_gather)
}

/// Bytes that a region reads of an input.
fn bytes_read(typed: &TypedGraph, site: &Site, input: &Input) -> i64 {
    let graph = typed.graph();
    let mut most = 0;
    for &node in &site.region.nodes {
        if graph.node(node).operands().any(|value| value == input.value) {
            let result = typed.tensor(graph.node(node).value).map_or(0, |ty| ty.nbytes());
            most = most.max(if is_gather(graph, node) { result } else { i64::MAX });
        }
    }
    input.ty.nbytes().min(most)
}

fn fused(typed: &TypedGraph, site: &Site, rates: &Rates) -> Cost {
    let region = &site.region;
    let mut cost = Cost { host_ns: rates.call_ns, bytes: 0 };
    if let Replacement::Kernels(program) = &site.replacement {
        cost.host_ns += rates.launch_ns * program.stages.len() as f64;
        for (number, buffer) in program.buffers.iter().enumerate() {
            let (nbytes, is_fresh) = match &buffer.role {
                Role::Input => (bytes_read(typed, site, &region.inputs[number]), false),
                Role::Updated => (2 * region.inputs[number].ty.nbytes(), false),
                Role::Output(ty) => (ty.nbytes(), true),
                Role::Temporary(numel) => (2 * numel * buffer.dtype.size() as i64, true),
            };
            cost.bytes += nbytes;
            cost.host_ns += if is_fresh { rates.memory_ns } else { 0.0 };
        }
    } else {
        cost.host_ns += rates.view_ns * region.outputs.len() as f64;
    }
    cost
}

fn how(site: &Site) -> String {
    match &site.replacement {
        Replacement::Views(views) => counted(views.len(), "view"),
        Replacement::Same => "the same view, which gains nothing".to_owned(),
        Replacement::Kernels(program) if site.target == Target::Cpu => counted(program.stages.len(), "loop nest"),
        Replacement::Kernels(program) => counted(program.stages.len(), "launch"),
    }
}

fn bytes(count: i64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

/// Operations in program order.
fn names(graph: &Graph, nodes: impl Iterator<Item = NodeId>) -> String {
    let name = |node| {
        let node = graph.node(node);
        Call::of(graph, node).map_or_else(|| node.callee.target().to_owned(), |call| call.name.to_owned())
    };
    nodes.map(name).collect::<Vec<_>>().join(", ")
}
