//! Data flow of a graph around a set of nodes.

use std::collections::BTreeSet;

use passnet_graph::{Graph, Node, NodeId, TypedGraph, ValueId, is_assertion, is_barrier, operators::GETATTR};

use crate::front::lower::{call::Call, storage::is_view_node};

/// Returns the nodes that something depends on, or that change something.
pub(crate) fn live_nodes(graph: &Graph) -> BTreeSet<NodeId> {
    let mut used: BTreeSet<ValueId> = graph.output_values().collect();
    let mut live = BTreeSet::new();
    for node in graph.nodes().rev() {
        let is_pure = Call::of(graph, node).map_or(node.callee.target() == GETATTR, |call| !call.is_change());
        let is_pure = is_pure && !is_barrier(&node) && !is_assertion(&node);
        if !is_pure || used.contains(&node.value) {
            live.insert(node.id);
            used.extend(node.operands());
        }
    }
    live
}

/// Nodes that the front end can express.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expressible<'s> {
    pub(crate) all: &'s BTreeSet<NodeId>,
    /// Nodes that begin a region, because each element of their operands is read many times.
    pub(crate) begins: &'s BTreeSet<NodeId>,
}

/// Returns the level of each node: the number of nodes that stay, or begin a region, on the longest path to it. So no path
/// between two nodes of one level goes through a node that stays.
pub(crate) fn first_levels(typed: &TypedGraph, nodes: Expressible<'_>) -> Vec<usize> {
    let graph = typed.graph();
    let mut levels: Vec<usize> = Vec::with_capacity(graph.num_nodes());
    for node in graph.nodes() {
        let begins = nodes.begins.contains(&node.id);
        let operands = node.operands().filter_map(|value| graph.node_of(value));
        let level = operands.map(|operand| {
            // A view between the node that computes a value and the node that begins a region computes nothing, so it
            // needs no further level.
            let maker = if begins { maker_of(typed, operand) } else { Some(operand) };
            let above = |maker: NodeId| levels[maker.index()] + usize::from(begins || !nodes.all.contains(&maker));
            maker.map_or(0, above).max(levels[operand.index()])
        });
        levels.push(level.max().unwrap_or(0));
    }
    levels
}

/// Returns the level at which each live node is computed, given the first levels: that of its first user. Nodes that change memory keep
/// their level. So do results of the graph that are computed from changed elements at that level: one kernel reads the elements once.
pub(crate) fn last_levels(
    typed: &TypedGraph,
    live: &BTreeSet<NodeId>,
    nodes: Expressible<'_>,
    first: &[usize],
) -> Vec<usize> {
    let graph = typed.graph();
    let deepest = live.iter().map(|node| first[node.index()]).max().unwrap_or(0);
    let mut last = vec![deepest; graph.num_nodes()];
    let with_change = with_changes(graph, nodes, first);
    let mut used: BTreeSet<NodeId> = BTreeSet::new();
    for node in graph.nodes().rev().filter(|node| live.contains(&node.id)) {
        let place = node.id.index();
        let is_result_of_change = !used.contains(&node.id) && with_change.contains(&node.id);
        // If a change moved later, some users would read the old elements. A node that stays keeps its place in the
        // graph.
        if is_result_of_change || is_change(graph, node) || !nodes.all.contains(&node.id) {
            last[place] = first[place];
        }
        used.extend(node.operands().filter_map(|value| graph.node_of(value)));
        for operand in node.operands().filter_map(|value| graph.node_of(value)) {
            last[operand.index()] = last[operand.index()].min(last[place]);
            let maker = maker_of(typed, operand).filter(|_| nodes.begins.contains(&node.id));
            if let Some(maker) = maker {
                last[maker.index()] = last[maker.index()].min(last[place].saturating_sub(1)).max(first[maker.index()]);
            }
        }
    }
    last
}

/// Returns the expressible nodes that change memory, and those that are computed from them at the same level.
fn with_changes(graph: &Graph, nodes: Expressible<'_>, first: &[usize]) -> BTreeSet<NodeId> {
    let mut found: BTreeSet<NodeId> = BTreeSet::new();
    for node in graph.nodes().filter(|node| nodes.all.contains(&node.id)) {
        let mut operands = node.operands().filter_map(|value| graph.node_of(value));
        let is_near = |operand: NodeId| found.contains(&operand) && first[operand.index()] == first[node.id.index()];
        if is_change(graph, node) || operands.any(is_near) {
            found.insert(node.id);
        }
    }
    found
}

/// Returns whether a node may change memory.
fn is_change(graph: &Graph, node: Node<'_>) -> bool {
    Call::of(graph, node).is_none_or(|call| call.is_change())
}

/// Returns the node that computes the elements of a node's result; `None` where these are of an input of the graph.
fn maker_of(typed: &TypedGraph, node: NodeId) -> Option<NodeId> {
    let graph = typed.graph();
    let mut maker = node;
    while is_view_node(typed, maker) {
        maker = graph.node_of(Call::of(graph, graph.node(maker))?.subject()?.as_value()?)?;
    }
    Some(maker)
}

/// Returns the values from outside that the nodes use.
pub(crate) fn inputs_of(graph: &Graph, nodes: &BTreeSet<NodeId>) -> Vec<ValueId> {
    let operands = nodes.iter().flat_map(|&node| graph.node(node).operands());
    let inputs: BTreeSet<ValueId> = operands.filter(|&value| !is_of(graph, value, nodes)).collect();
    inputs.into_iter().collect()
}

/// Returns whether one of the values is computed from one of the nodes.
pub(crate) fn depend_on(graph: &Graph, values: &[ValueId], nodes: &BTreeSet<NodeId>) -> bool {
    let mut after = nodes.clone();
    for node in graph.nodes() {
        if node.operands().any(|value| is_of(graph, value, &after)) {
            after.insert(node.id);
        }
    }
    values.iter().any(|&value| is_of(graph, value, &after))
}

/// Returns whether one of the nodes defines the value.
pub(crate) fn is_of(graph: &Graph, value: ValueId, nodes: &BTreeSet<NodeId>) -> bool {
    graph.node_of(value).is_some_and(|node| nodes.contains(&node))
}
