use rustc_hash::FxHashMap;

use crate::{
    Callee, Graph, NodeId, OpId, Uses, ValueId,
    effects::{self, AliasClasses, live_nodes},
};

/// A graph prepared for matching. It is prepared once and can be searched for any number of patterns.
pub struct PreparedGraph<'g> {
    pub(super) graph: &'g Graph,
    pub(super) uses: Uses,
    pub(super) live: Vec<bool>,
    /// For each value, the number of its uses by live nodes and outputs.
    pub(super) live_uses: Vec<u32>,
    /// Live nodes that change something, in program order.
    pub(super) mutators: Vec<Mutator>,
    /// Classes of storage; `None` if there are no mutators, because nothing reads the classes then.
    pub(super) storage: Option<AliasClasses>,
    ops: FxHashMap<Callee<'g>, OpId>,
    /// Beginning of each op's nodes in `by_op`, which has the live nodes by op (compressed sparse rows).
    starts: Vec<u32>,
    by_op: Vec<NodeId>,
}

/// A node that changes storage or global state.
pub(super) struct Mutator {
    pub(super) node: NodeId,
    pub(super) changed: Vec<ValueId>,
    /// True if no computation may move across this node.
    pub(super) is_barrier: bool,
}

impl<'g> PreparedGraph<'g> {
    /// Prepares `graph`, in time linear in its size.
    pub fn new(graph: &'g Graph) -> Self {
        let live = live_nodes(graph);
        let mut starts = vec![0_u32; graph.num_ops() + 1];
        let mut mutators = Vec::new();
        for node in graph.nodes().filter(|node| live[node.id.index()]) {
            starts[node.op.index() + 1] += 1;
            let args = effects::mutated(graph, &node);
            let is_barrier = effects::is_barrier(&node);
            if is_barrier || !args.is_empty() {
                let changed = graph.values_in(args.into_iter()).collect();
                mutators.push(Mutator { node: node.id, changed, is_barrier });
            }
        }
        // A counting sort needs two passes over the nodes, and one array instead of a vector for each op.
        for op in 1..starts.len() {
            starts[op] += starts[op - 1];
        }
        let mut next = starts.clone();
        let mut by_op = vec![NodeId(0); starts.last().map_or(0, |&total| total as usize)];
        for node in graph.nodes().filter(|node| live[node.id.index()]) {
            let slot = &mut next[node.op.index()];
            by_op[*slot as usize] = node.id;
            *slot += 1;
        }
        Self {
            graph,
            uses: graph.uses(),
            live_uses: effects::live_uses(graph, &live),
            storage: (!mutators.is_empty()).then(|| AliasClasses::new(graph)),
            mutators,
            ops: (0..graph.num_ops() as u32).map(|op| (graph.callee(OpId(op)), OpId(op))).collect(),
            starts,
            by_op,
            live,
        }
    }

    /// Returns whether a node can be matched: it changes something, or such a node or the outputs depend on it.
    ///
    /// # Panics
    /// If `node` is not of this graph.
    pub fn is_live(&self, node: NodeId) -> bool {
        self.live[node.index()]
    }

    /// Returns the op that calls `callee`, if any node does.
    pub(super) fn op(&self, callee: Callee<'_>) -> Option<OpId> {
        self.ops.get(&callee).copied()
    }

    /// Returns the live nodes that call `op`, in program order.
    pub(super) fn nodes_of(&self, op: OpId) -> &[NodeId] {
        &self.by_op[self.starts[op.index()] as usize..self.starts[op.index() + 1] as usize]
    }
}
