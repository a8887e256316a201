//! The plan for a task in words: the operations that became one call, the reason, and the expected gain.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use passnet_graph::{Graph, NodeId, Target, TypedGraph};
use passnet_record::{DeviceRates, PlannedInput, PlannedPart, counted};

use crate::{
    back::tuning::{Choices, config_of},
    front::lower::{Lowering, call::Call, storage::is_view_node},
    plan::{
        config::default_config,
        flow::live_nodes,
        precision::find_fragile_nodes,
        rates::rates_of,
        select::plan_passes,
        site::{PassSite, Replacement},
    },
};

/// Returns the plan for a task, graph by graph, as text.
pub fn explain(task: &[TypedGraph], target: Target, choices: &Choices) -> String {
    let groups = plan_passes(task, target, &BTreeMap::new());
    let fragile = find_fragile_nodes(task, target, &BTreeMap::new());
    let mut text = String::new();
    for (number, typed) in task.iter().enumerate() {
        let graph = typed.graph();
        let live = live_nodes(graph);
        let _ = writeln!(text, "graph {number}: {}", counted(live.len(), "operation"));
        let mut replaced: BTreeSet<NodeId> = BTreeSet::new();
        let (mut before, mut after) = (0.0, 0.0);
        for (pass, sites) in groups.iter().enumerate() {
            for site in sites.iter().filter(|site| site.graph == number) {
                let config = config_of(site, choices);
                before += site.gain.eager_ns();
                after += site.gain.fused_ns();
                replaced.extend(&site.region.nodes);
                let _ = write!(
                    text,
                    "  fuse_{pass}: {} as {}{}{}\n    {}\n    predicted: {}\n",
                    counted(site.region.nodes.len(), "operation"),
                    how(site),
                    if config == default_config(site.target) {
                        String::new()
                    } else {
                        format!(" ({}, as measured)", config)
                    },
                    if site.target == target { "" } else { ", in host memory" },
                    names(graph, site.region.nodes.iter().copied()),
                    site.gain,
                );
            }
        }
        let stays: BTreeSet<NodeId> = live.difference(&replaced).copied().collect();
        text.push_str(&remaining(typed, target, &fragile[number], &stays));
        if !replaced.is_empty() {
            let _ = writeln!(text, "  predicted for the replaced operations: {:.2} times as fast", before / after);
        }
    }
    text
}

/// Returns the constants with which times on a target are predicted.
pub fn device_rates(target: Target) -> DeviceRates {
    *rates_of(target)
}

/// Returns the places of a task where passes are applied, with their costs.
pub fn planned_parts(task: &[TypedGraph], target: Target) -> Vec<PlannedPart> {
    let groups = plan_passes(task, target, &BTreeMap::new());
    let part = |(pass, site): (usize, &PassSite)| PlannedPart {
        pass: format!("fuse_{pass}"),
        graph: site.graph,
        operations: site.operations.clone(),
        inputs: site
            .region
            .inputs
            .iter()
            .map(|input| PlannedInput { dtype: input.ty.dtype, shape: input.ty.shape.clone() })
            .collect(),
        eager: site.gain.eager.clone(),
        fused: site.gain.fused.clone(),
        eager_ns: site.gain.eager_ns() as u64,
        fused_ns: site.gain.fused_ns() as u64,
    };
    groups.iter().enumerate().flat_map(|(pass, sites)| sites.iter().map(move |site| (pass, site))).map(part).collect()
}

/// Returns the operations that stay with PyTorch, by reason. Operations without a kernel are listed with the types of their
/// tensors.
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

fn how(site: &PassSite) -> String {
    match &site.replacement {
        Replacement::Views(views) => counted(views.len(), "view"),
        Replacement::Same(_) => "the same view, which gains nothing".to_owned(),
        Replacement::Kernels(program) if site.target == Target::Cpu => counted(program.stages.len(), "loop nest"),
        Replacement::Kernels(program) => counted(program.stages.len(), "launch"),
    }
}

/// Returns the names of operations in program order.
fn names(graph: &Graph, nodes: impl Iterator<Item = NodeId>) -> String {
    let name = |node| {
        let node = graph.node(node);
        Call::of(graph, node).map_or_else(|| node.callee.target().to_owned(), |call| call.name.to_owned())
    };
    nodes.map(name).collect::<Vec<_>>().join(", ")
}
