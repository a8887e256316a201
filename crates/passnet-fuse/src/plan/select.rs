//! The sites of a task, in passes and in the order of the passes.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{NodeId, Target, TypedGraph};

use super::{
    dry_run::{DryRun, dry_run},
    pattern::write_repeated,
    precision::find_fragile_nodes,
    region::{Copies, Region},
    schedule::schedule,
    site::{PassSite, PatternKey, Replacement},
    stage::LoopForm,
    survey::find_regions,
    views::{find_lone_view, find_view_regions},
};
use crate::front::lower::{call::Call, storage::is_view_node};

/// Returns the sites of a task, without the nodes that are left to PyTorch. Sites are grouped by pass, and passes are in the
/// order in which they are applied.
pub(crate) fn plan_passes(
    task: &[TypedGraph],
    target: Target,
    left: &BTreeMap<usize, BTreeSet<NodeId>>,
) -> Vec<Vec<PassSite>> {
    plan_around(task, target, &find_fragile_nodes(task, target, left))
}

/// Returns the sites of [`plan_passes`], and also those of nodes that could lose precision. Use it only where each region is
/// compared with exact results.
pub(crate) fn plan_judged_passes(
    task: &[TypedGraph],
    target: Target,
    left: &BTreeMap<usize, BTreeSet<NodeId>>,
) -> Vec<Vec<PassSite>> {
    let kept: Vec<_> = (0..task.len()).map(|graph| left.get(&graph).cloned().unwrap_or_default()).collect();
    plan_around(task, target, &kept)
}

/// Returns the sites of a task, without the nodes of each graph that are kept. If one graph cannot replace an operation
/// of a pass, the operation stays in all graphs of this pass. These are then planned again, without the operation.
fn plan_around(task: &[TypedGraph], target: Target, kept: &[BTreeSet<NodeId>]) -> Vec<Vec<PassSite>> {
    let mut fixed: Vec<Fixed> =
        kept.iter().map(|kept| Fixed { kept: kept.clone(), blocked: BTreeSet::new() }).collect();
    loop {
        let sites = task
            .iter()
            .zip(&fixed)
            .enumerate()
            .flat_map(|(graph, (typed, fixed))| rewritable_sites(typed, graph, target, fixed))
            .collect();
        let kept: Vec<BTreeSet<NodeId>> = fixed.iter().map(|fixed| fixed.kept.clone()).collect();
        let DryRun { passes, blocked } = dry_run(task, select_patterns(group_by_pattern(sites)), target, &kept);
        // Each turn except the last keeps or blocks more nodes, so the loop ends.
        if fixed.iter().zip(&blocked).all(|(fixed, blocked)| blocked.is_subset(&fixed.blocked)) {
            return passes;
        }
        for (fixed, blocked) in fixed.iter_mut().zip(blocked) {
            fixed.kept.extend(&blocked);
            fixed.blocked.extend(blocked);
        }
    }
}

/// Nodes of a graph that are not computed by a pass.
struct Fixed {
    /// Nodes that PyTorch computes. A pass may repeat the call of one that is a view.
    kept: BTreeSet<NodeId>,
    /// Nodes among `kept` that no pass may match, because another graph with the same operations cannot use the pass.
    blocked: BTreeSet<NodeId>,
}

/// Returns the sites of a graph, on its device and in host memory.
fn rewritable_sites(typed: &TypedGraph, graph: usize, target: Target, fixed: &Fixed) -> Vec<PassSite> {
    let on = |typed: &TypedGraph, target: Target| -> Vec<PassSite> {
        let replacements = find_replacements(typed, target, fixed).into_iter();
        replacements.map(|(region, replacement)| PassSite::new(typed, graph, region, replacement, target)).collect()
    };
    let mut sites = on(typed, target);
    if target == Target::Cuda
        && let Some(on_host) = typed.on_host()
    {
        // Scalars and index tables of a CUDA graph may lie in host memory, where a Triton kernel cannot read them.
        sites.extend(on(&on_host, Target::Cpu));
    }
    sites
}

/// Returns the regions of a graph with their replacements, without the nodes that are kept. Each method of finding regions is
/// tried only if those before it found none.
fn find_replacements(typed: &TypedGraph, target: Target, fixed: &Fixed) -> Vec<(Region, Replacement)> {
    let kept = &fixed.kept;
    let scheduled = |region: Region| {
        let program = schedule(&region, LoopForm::of(target))?;
        Some((region, Replacement::Kernels(program)))
    };
    let viewed = |(region, views)| (region, Replacement::Views(views));
    let (slight, others): (Vec<Region>, Vec<Region>) = find_regions(typed, target, kept, Copies::Never)
        .into_iter()
        .partition(|region| is_slight(typed, region, target));
    let fused: Vec<(Region, Replacement)> = others.into_iter().filter_map(scheduled).collect();
    if !fused.is_empty() && fused.iter().all(|(region, _)| is_cheap_alone(typed, region, target)) {
        // A view that stays as it is costs a call of Python. Other ways to replace a view cost as much as the kernel.
        if let Some(view) = find_lone_view(typed, target, &fixed.blocked) {
            return vec![repeated(typed, view)];
        }
    }
    let taken: BTreeSet<NodeId> = fused.iter().flat_map(|(region, _)| region.nodes.iter().copied()).collect();
    // A prepared call costs about as much as a view of PyTorch, and each of its results a quarter of that. A call that returns its
    // argument, such as `contiguous` of a contiguous tensor, takes PyTorch hardly any time.
    let pays = |region: &Region| {
        let changed = region.nodes.iter().filter(|&&node| changes_layout(typed, node)).count();
        region.nodes.len() >= region.outputs.len() + 2 && changed > region.outputs.len()
    };
    let all_views = || find_view_regions(typed, target, kept, &taken).into_iter();
    let bytes = |region: &Region| region.outputs.iter().map(|output| output.ty.nbytes()).sum::<i64>();
    let fused_and_views =
        || fused.into_iter().chain(all_views().filter(|(region, _)| pays(region)).map(viewed)).collect();
    let lone_view = || find_lone_view(typed, target, &fixed.blocked).map(|region| repeated(typed, region));
    // One match is enough, because a graph with a match does not count as failed.
    let smallest_slight = || slight.into_iter().filter_map(scheduled).min_by_key(|(region, _)| bytes(region));
    let smallest_copied =
        || find_regions(typed, target, kept, Copies::Unseen).into_iter().min_by_key(bytes).and_then(scheduled);
    // The cheapest way first. A graph that no pass matches counts as failed, so even a pass without a gain is better
    // than none.
    type Way<'w> = Box<dyn FnOnce() -> Vec<(Region, Replacement)> + 'w>;
    let ways: [Way<'_>; 5] = [
        Box::new(fused_and_views),
        Box::new(|| lone_view().into_iter().collect()),
        Box::new(|| all_views().map(viewed).collect()),
        Box::new(|| smallest_slight().into_iter().collect()),
        Box::new(|| smallest_copied().into_iter().collect()),
    ];
    ways.into_iter().map(|find| find()).find(|found| !found.is_empty()).unwrap_or_default()
}

fn repeated(typed: &TypedGraph, region: Region) -> (Region, Replacement) {
    let body = write_repeated(typed, &region);
    (region, Replacement::Same(body))
}

/// Returns whether the result of a view has another shape, other strides or another type than its argument.
fn changes_layout(typed: &TypedGraph, node: NodeId) -> bool {
    let graph = typed.graph();
    let subject = Call::of(graph, graph.node(node)).and_then(|call| call.subject()?.as_value());
    subject.is_none_or(|subject| typed.tensor(subject) != typed.tensor(graph.value_of(node)))
}

/// Returns whether a region is one computation of eager mode and a few views, with several results. On a device, the host needs
/// more time to allocate memory for each result than for the views, and each result has to be written.
fn is_slight(typed: &TypedGraph, region: &Region, target: Target) -> bool {
    let computes = |node: &&NodeId| !is_view_node(typed, **node);
    let is_slow = |node: &NodeId| {
        let graph = typed.graph();
        let op = Call::of(graph, graph.node(*node)).and_then(|call| call.op());
        op.is_some_and(|op| op.is_slow_alone)
    };
    target == Target::Cuda
        && region.outputs.len() > 1
        && region.nodes.len() <= 1 + 2 * region.outputs.len()
        && region.nodes.iter().filter(computes).count() <= 1
        && !region.nodes.iter().any(is_slow)
}

/// Number of elements of a half type from which a kernel on a CPU saves more time than its call costs.
const MANY_HALVES: i64 = 8192;

/// Returns whether a region is one operation that takes eager mode no longer than a kernel. Both read and write the same bytes, and
/// the call of a kernel costs as much as PyTorch's. On a CPU, an operation with a number as operand does not count, because
/// PyTorch's call then costs more.
fn is_cheap_alone(typed: &TypedGraph, region: &Region, target: Target) -> bool {
    let graph = typed.graph();
    let mut computed = region.nodes.iter().filter(|&&node| !is_view_node(typed, node));
    let (Some(&node), None) = (computed.next(), computed.next()) else { return false };
    // Each view of PyTorch costs half a call, and a kernel replaces all of them. On a device, one is enough: the kernel's launch
    // costs less than PyTorch's call.
    let num_views = region.nodes.len() - 1;
    if num_views > usize::from(target == Target::Cpu) {
        return false;
    }
    let (Some(call), Some(ty)) = (Call::of(graph, graph.node(node)), typed.tensor(graph.value_of(node))) else {
        return false;
    };
    let is_small = target == Target::Cuda || ty.numel() < MANY_HALVES;
    match call.name {
        "cat" | "concat" | "stack" => target == Target::Cpu,
        "relu" | "neg" => is_small || ty.dtype.size() >= 4,
        "add" | "sub" | "mul" | "maximum" | "minimum" => {
            let has_number = graph.node(node).operands().count() == 1;
            (target == Target::Cuda || !has_number) && (is_small || ty.dtype.size() >= 4)
        }
        "float" | "half" | "bfloat16" | "double" | "long" | "int" | "to" => is_small,
        _ => false,
    }
}

/// Returns the sites grouped by pattern, in the order in which the patterns first occur.
fn group_by_pattern(sites: Vec<PassSite>) -> Vec<Vec<PassSite>> {
    let mut groups: Vec<(PatternKey, Vec<PassSite>)> = Vec::new();
    for site in sites {
        let key = site.key();
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, sites)) => sites.push(site),
            None => groups.push((key, vec![site])),
        }
    }
    groups.into_iter().map(|(_, sites)| sites).collect()
}

/// Returns the patterns of several operations. A graph without any of these gets a pattern of a single operation, because a
/// graph that nothing matches counts as failed.
fn select_patterns(groups: Vec<Vec<PassSite>>) -> Vec<Vec<PassSite>> {
    let has_several = |sites: &Vec<PassSite>| sites.iter().any(|site| site.region.nodes.len() > 1);
    let (mut selected, single): (Vec<Vec<PassSite>>, Vec<Vec<PassSite>>) = groups.into_iter().partition(has_several);
    let mut covered: BTreeSet<usize> = selected.iter().flatten().map(|site| site.graph).collect();
    for sites in single {
        if sites.iter().any(|site| !covered.contains(&site.graph)) {
            covered.extend(sites.iter().map(|site| site.graph));
            selected.push(sites);
        }
    }
    selected
}
