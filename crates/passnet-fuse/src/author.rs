//! The whole way from the typed graphs of a task to the files of a pass directory.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{Graph, NodeId, Target, TypedGraph, ValueId};
use passnet_record::{ORDER_FILE, PassDirectory};

use crate::{
    back::{
        emit::pass_file,
        tuning::{Choices, TunableKernel},
    },
    front::lower::{call::Call, storage::is_view_node},
    plan::{
        select::{plan_judged_passes, plan_passes},
        site::{PassSite, Replacement},
    },
};

/// Writes the passes of a task, given by its typed graphs. Returns a directory without files if nothing can be rewritten. Kernels
/// without an entry in `choices` get the configuration of the cost model.
pub fn write_passes(task: &[TypedGraph], target: Target, choices: &Choices) -> PassDirectory {
    write_passes_without(task, target, choices, &Excluded::new()).directory
}

/// Operations of a task that stay with PyTorch: nodes by the position of their graph in the task.
pub type Excluded = BTreeMap<usize, BTreeSet<NodeId>>;

/// Passes of a task, with the parts of graphs that each pass replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Files of the passes.
    pub directory: PassDirectory,
    /// Passes in the order in which they are applied.
    pub passes: Vec<WrittenPass>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPass {
    /// Name of the pass file, without the suffix.
    pub name: String,
    /// Parts of graphs for which the pass was written.
    pub parts: Vec<ReplacedPart>,
    /// True if the pass makes the same call as its pattern: it is as fast as eager mode, except for a call of Python.
    pub repeats: bool,
}

/// A part of a graph that one call replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedPart {
    /// Position of the graph in the task.
    pub graph: usize,
    /// Operations that the call replaces.
    pub nodes: BTreeSet<NodeId>,
    /// Matrix products among `nodes`. Without the pass, a library computes them.
    pub products: BTreeSet<NodeId>,
    /// Operations among `nodes` that only view their argument.
    pub views: BTreeSet<NodeId>,
}

/// Writes the passes of a task as [`write_passes`] does, but leaves the operations in `left` to PyTorch. Other graphs keep a
/// pass only if a constant of its pattern keeps it from matching these operations.
pub fn write_passes_without(task: &[TypedGraph], target: Target, choices: &Choices, left: &Excluded) -> Written {
    written(task, &plan_passes(task, target, left), choices)
}

/// Writes passes as [`write_passes`] does, for the process of a user: kernels for a GPU assert that indices are in range, as
/// PyTorch's kernels do. The referee refuses such kernels, because an assertion can end the process.
pub fn write_checked_passes(task: &[TypedGraph], target: Target, choices: &Choices) -> PassDirectory {
    written(task, &checked(plan_passes(task, target, &Excluded::new())), choices).directory
}

/// Writes passes as [`write_checked_passes`] does, but also replaces operations whose rounding errors later operations enlarge,
/// such as a normalisation before a convolution in TF32. Use it only where each region is compared with exact results: the
/// results of the model are then as precise as PyTorch's, but not within a narrow tolerance of them.
pub fn write_judged_passes(task: &[TypedGraph], target: Target, choices: &Choices) -> PassDirectory {
    written(task, &checked(plan_judged_passes(task, target, &Excluded::new())), choices).directory
}

fn checked(mut passes: Vec<Vec<PassSite>>) -> Vec<Vec<PassSite>> {
    passes.iter_mut().flatten().for_each(PassSite::check_indices);
    passes
}

/// Writes passes as [`write_judged_passes`] does, for operations that were wrong or slow when one call replaced them all. Matrix
/// products stay with the library. Views that are results next to the value that they view stay views. Returns a directory
/// without files if the operations contain neither.
pub fn write_judged_parts(task: &[TypedGraph], target: Target, choices: &Choices) -> PassDirectory {
    let left: Excluded = task.iter().map(often_lost).enumerate().collect();
    let passes = match left.values().all(BTreeSet::is_empty) {
        true => Vec::new(),
        false => plan_judged_passes(task, target, &left),
    };
    written(task, &checked(passes), choices).directory
}

/// Returns the matrix products of a graph, and the views that are results next to the value that they view.
fn often_lost(typed: &TypedGraph) -> BTreeSet<NodeId> {
    let graph = typed.graph();
    let results: BTreeSet<ValueId> = graph.output_values().collect();
    let viewed = |node: NodeId| {
        let subject = Call::of(graph, graph.node(node)).filter(|_| is_view_node(typed, node))?.subject()?.as_value()?;
        Some((subject, graph.node_of(subject)))
    };
    let views_result = |node: NodeId| {
        let mut below = std::iter::successors(viewed(node), |&(_, from)| viewed(from?));
        results.contains(&graph.value_of(node)) && below.any(|(value, _)| results.contains(&value))
    };
    let is_lost = |node: &NodeId| is_product(graph, *node) || views_result(*node);
    graph.nodes().map(|node| node.id).filter(is_lost).collect()
}

/// Prints passes as files, and lists the parts of graphs that each pass replaces.
fn written(task: &[TypedGraph], passes: &[Vec<PassSite>], choices: &Choices) -> Written {
    let names: Vec<String> = (0..passes.len()).map(|number| format!("fuse_{number}")).collect();
    let mut files: Vec<(String, String)> =
        names.iter().zip(passes).map(|(name, sites)| (format!("{name}.py"), pass_file(sites, choices))).collect();
    if !names.is_empty() {
        let list: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        files.push((ORDER_FILE.to_owned(), format!("[{}]\n", list.join(", "))));
    }
    // The referee refuses a directory in which two files have the same name. Numbers always differ, names of operations do not.
    let directory = PassDirectory::new(files).expect("numbered names are paths of a pass directory");
    let part = |site: &PassSite| {
        let typed = &task[site.graph];
        let nodes: BTreeSet<NodeId> = site.region.nodes.iter().copied().collect();
        let those = |is: &dyn Fn(NodeId) -> bool| nodes.iter().copied().filter(|&node| is(node)).collect();
        let products = those(&|node| is_product(typed.graph(), node));
        let views = those(&|node| is_view_node(typed, node));
        ReplacedPart { graph: site.graph, nodes, products, views }
    };
    let written = |(name, sites): (String, &Vec<PassSite>)| WrittenPass {
        name,
        parts: sites.iter().map(part).collect(),
        repeats: sites.iter().all(|site| matches!(site.replacement, Replacement::Same(_))),
    };
    Written { directory, passes: names.into_iter().zip(passes).map(written).collect() }
}

fn is_product(graph: &Graph, node: NodeId) -> bool {
    Call::of(graph, graph.node(node)).and_then(|call| call.op()).is_some_and(|op| op.is_product)
}

/// Returns the kernels of a task, each with its other possible configurations, in the order of the graphs.
pub fn tunable_kernels(task: &[TypedGraph], target: Target) -> Vec<TunableKernel> {
    let passes = plan_passes(task, target, &Excluded::new());
    let sites = passes.iter().flatten();
    let mut kernels: Vec<TunableKernel> =
        sites.filter_map(|site| Some(TunableKernel::new(site.graph, site.program()?, site.target))).collect();
    kernels.sort_by_key(|kernel| kernel.graph);
    kernels
}
