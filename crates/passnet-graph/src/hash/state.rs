use std::collections::BTreeMap;

use crate::{
    Arg, Graph, NodeId, ValueId,
    effects::{AliasClasses, mutated, touches_global_state},
};

/// An operand of a node, or an element of the outputs, with the state in which it is read.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) value: ValueId,
    /// The last node that changed storage which the value may share, unless it is the node that defines the value.
    pub(super) changed_by: Option<NodeId>,
}

/// The reads of each node: values, the earlier changes of these values, and the global state.
///
/// The hash depends on program order only through these reads. A node that reads a changed value refers to the change. Changes of the
/// same storage refer to each other, because a change also reads its operands.
pub(super) struct Reads {
    operands: Vec<Operand>,
    /// End of the operands of each node; the last entry is for the outputs.
    ends: Vec<u32>,
    /// For each node, the last node before it that changed or checked global state; the last entry is for the outputs.
    global: Vec<Option<NodeId>>,
}

impl Reads {
    pub(super) fn new(graph: &Graph, keyword_order: &[Vec<u32>]) -> Self {
        let mut state = HashState::new(graph);
        let mut reads = Self { operands: Vec::new(), ends: Vec::new(), global: Vec::new() };
        for node in graph.nodes() {
            reads.push(graph, &state, arguments(graph, node.id, &keyword_order[node.id.index()]));
            state.after(graph, node.id);
        }
        reads.push(graph, &state, graph.outputs().iter().copied());
        reads
    }

    fn push(&mut self, graph: &Graph, state: &HashState, args: impl Iterator<Item = Arg>) {
        for arg in args {
            graph.for_each_value(arg, &mut |value| {
                self.operands.push(Operand { value, changed_by: state.changed_by(graph, value) });
            });
        }
        self.ends.push(self.operands.len() as u32);
        self.global.push(state.global);
    }

    /// Returns the operands of a node, in canonical order of its arguments. The number of nodes stands for the outputs.
    pub(super) fn operands(&self, node: usize) -> &[Operand] {
        let start = node.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.operands[start..self.ends[node] as usize]
    }

    pub(super) fn global(&self, node: usize) -> Option<NodeId> {
        self.global[node]
    }
}

/// Returns the positional arguments, then the keyword arguments in canonical order.
pub(super) fn arguments<'g>(
    graph: &'g Graph,
    node: NodeId,
    keyword_order: &'g [u32],
) -> impl Iterator<Item = Arg> + use<'g> {
    let node = graph.node(node);
    node.args.iter().copied().chain(keyword_order.iter().map(move |&index| node.kwargs[index as usize].1))
}

struct HashState {
    storage: Option<AliasClasses>,
    /// For each class of storage, the last node that changed it.
    changes: BTreeMap<u32, NodeId>,
    global: Option<NodeId>,
}

impl HashState {
    fn new(graph: &Graph) -> Self {
        // Most graphs change nothing and need no classes of storage.
        let has_changes = graph.nodes().any(|node| !mutated(graph, &node).is_empty());
        Self { storage: has_changes.then(|| AliasClasses::new(graph)), changes: BTreeMap::new(), global: None }
    }

    fn changed_by(&self, graph: &Graph, value: ValueId) -> Option<NodeId> {
        let change = *self.changes.get(&self.storage.as_ref()?.class(value))?;
        (graph.value_of(change) != value).then_some(change)
    }

    fn after(&mut self, graph: &Graph, id: NodeId) {
        let node = graph.node(id);
        if touches_global_state(&node) {
            self.global = Some(id);
        }
        let Some(storage) = &self.storage else { return };
        for arg in mutated(graph, &node) {
            graph.for_each_value(arg, &mut |value| {
                self.changes.insert(storage.class(value), id);
            });
        }
    }
}
