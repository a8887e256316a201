use crate::{
    Callee, Graph, NodeId, OpId, ValueId,
    effects::{self, live_nodes},
};

/// Largest number of nodes that a pattern may have.
pub const MAX_PATTERN_NODES: usize = 4096;

/// Reason why a graph cannot serve as a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// No node of the pattern computes an output or has an effect.
    #[error("the pattern computes nothing; return the result of an operation")]
    Empty,
    /// The pattern has more than [`MAX_PATTERN_NODES`] nodes.
    #[error("the pattern has {nodes} nodes, more than {MAX_PATTERN_NODES}; write a smaller one")]
    TooLarge {
        /// Number of nodes of the pattern.
        nodes: usize,
    },
}

/// One step of the search: the choice of a target node for `root`. The target nodes for all nodes that `root` depends on then follow from
/// the arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchStep {
    /// The pattern node to choose a target node for.
    pub(super) root: NodeId,
    /// An argument of `root` for which a target value is already known. Only users of this value are candidates.
    pub(super) from: Option<ValueId>,
}

/// A graph prepared as a pattern: its inputs are wildcards, its outputs the values that may be used outside.
#[derive(Debug)]
pub struct Pattern<'p> {
    pub(super) graph: &'p Graph,
    pub(super) live: Vec<bool>,
    pub(super) num_live: usize,
    /// For each node, whether its value is an output of the pattern.
    pub(super) is_output: Vec<bool>,
    /// For each value, the number of its uses by live nodes and outputs.
    pub(super) live_uses: Vec<u32>,
    /// Live nodes that change storage.
    pub(super) mutators: Vec<NodeId>,
    pub(super) steps: Vec<SearchStep>,
    /// For each node, the step after which all its users have target nodes.
    pub(super) users_placed_at: Vec<u32>,
    /// Each op with the number of live nodes that call it.
    ops: Vec<(OpId, u32)>,
}

impl<'p> Pattern<'p> {
    /// Prepares `graph`. Dead nodes without effects are not part of the pattern.
    ///
    /// # Errors
    /// If no node is left, or there are too many.
    pub fn new(graph: &'p Graph) -> Result<Self, PatternError> {
        let live = live_nodes(graph);
        let num_live = live.iter().filter(|&&live| live).count();
        if num_live == 0 {
            return Err(PatternError::Empty);
        }
        if graph.num_nodes() > MAX_PATTERN_NODES {
            return Err(PatternError::TooLarge { nodes: graph.num_nodes() });
        }
        let mut is_output = vec![false; graph.num_nodes()];
        for &output in graph.outputs() {
            graph.for_each_value(output, &mut |value| {
                if let Some(node) = graph.node_of(value) {
                    is_output[node.index()] = true;
                }
            });
        }
        let mut counts = vec![0_u32; graph.num_ops()];
        let mut mutators = Vec::new();
        for node in graph.nodes().filter(|node| live[node.id.index()]) {
            counts[node.op.index()] += 1;
            if !effects::mutated(graph, &node).is_empty() {
                mutators.push(node.id);
            }
        }
        let (steps, placed_at) = Planner::new(graph, &live).plan();
        Ok(Self {
            graph,
            num_live,
            is_output,
            live_uses: effects::live_uses(graph, &live),
            mutators,
            users_placed_at: users_placed_at(graph, &placed_at),
            steps,
            ops: (0..).map(OpId).zip(counts).filter(|&(_, count)| count > 0).collect(),
            live,
        })
    }

    /// Returns whether `target` has at least as many calls of each op as the pattern. If not, the pattern cannot match. This check takes
    /// one pass over the nodes and needs no [`PreparedGraph`](super::PreparedGraph).
    pub fn may_occur_in(&self, target: &Graph) -> bool {
        let mut counts = vec![0_u32; target.num_ops()];
        target.nodes().for_each(|node| counts[node.op.index()] += 1);
        let mut available: Vec<(Callee<'_>, u32)> =
            (0..).map(|op| target.callee(OpId(op))).zip(counts.iter().copied()).take(counts.len()).collect();
        available.sort_unstable();
        self.ops.iter().all(|&(op, needed)| {
            available
                .binary_search_by(|&(callee, _)| callee.cmp(&self.graph.callee(op)))
                .is_ok_and(|index| available[index].1 >= needed)
        })
    }

    pub(super) fn live_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.graph.num_nodes() as u32).map(NodeId).filter(|node| self.live[node.index()])
    }
}

/// Returns for each node the latest of the steps at which the node and its users are placed.
fn users_placed_at(graph: &Graph, placed_at: &[Option<u32>]) -> Vec<u32> {
    let own = |node: NodeId| placed_at[graph.value_of(node).index()].unwrap_or(0);
    let mut latest: Vec<u32> = (0..graph.num_nodes() as u32).map(|node| own(NodeId(node))).collect();
    for node in graph.nodes() {
        for arg in node.all_args() {
            graph.for_each_value(arg, &mut |value| {
                if let Some(used) = graph.node_of(value) {
                    latest[used.index()] = latest[used.index()].max(own(node.id));
                }
            });
        }
    }
    latest
}

/// Orders the steps so that each choice depends on earlier choices where the pattern allows it.
struct Planner<'p> {
    graph: &'p Graph,
    live: &'p [bool],
    /// For each value, the step that finds its target value.
    placed_at: Vec<Option<u32>>,
}

impl<'p> Planner<'p> {
    fn new(graph: &'p Graph, live: &'p [bool]) -> Self {
        Self { graph, live, placed_at: vec![None; graph.num_values()] }
    }

    fn plan(mut self) -> (Vec<SearchStep>, Vec<Option<u32>>) {
        let is_sink = self.sinks();
        let mut steps = Vec::new();
        let mut waiting: Vec<NodeId> =
            (0..self.graph.num_nodes() as u32).map(NodeId).filter(|node| self.live[node.index()]).collect();
        loop {
            waiting.retain(|&node| self.placed_at[self.graph.value_of(node).index()].is_none());
            let step = self
                // Nodes are preferred to inputs: an input is a wildcard and may have many users, while a matched node has few.
                .adjacent(&waiting, |value| self.graph.node_of(value).is_some())
                .or_else(|| self.adjacent(&waiting, |_| true))
                .or_else(|| {
                    let root = waiting.iter().copied().find(|node| is_sink[node.index()])?;
                    Some(SearchStep { root, from: None })
                });
            let Some(step) = step else { return (steps, self.placed_at) };
            self.place(step.root, steps.len() as u32);
            steps.push(step);
        }
    }

    /// Returns the first waiting node with a placed argument that `is_wanted`.
    fn adjacent(&self, waiting: &[NodeId], is_wanted: impl Fn(ValueId) -> bool) -> Option<SearchStep> {
        waiting.iter().find_map(|&root| {
            let mut from = None;
            for arg in self.graph.node(root).all_args() {
                self.graph.for_each_value(arg, &mut |value| {
                    if from.is_none() && self.placed_at[value.index()].is_some() && is_wanted(value) {
                        from = Some(value);
                    }
                });
            }
            from.map(|_| SearchStep { root, from })
        })
    }

    /// Returns for each node whether it is live and no live node uses it.
    fn sinks(&self) -> Vec<bool> {
        let mut is_sink = self.live.to_vec();
        for node in self.graph.nodes().filter(|node| self.live[node.id.index()]) {
            for arg in node.all_args() {
                self.graph.for_each_value(arg, &mut |value| {
                    if let Some(used) = self.graph.node_of(value) {
                        is_sink[used.index()] = false;
                    }
                });
            }
        }
        is_sink
    }

    fn place(&mut self, root: NodeId, step: u32) {
        let mut work = vec![self.graph.value_of(root)];
        while let Some(value) = work.pop() {
            if self.placed_at[value.index()].is_some() {
                continue;
            }
            self.placed_at[value.index()] = Some(step);
            if let Some(node) = self.graph.node_of(value) {
                for arg in self.graph.node(node).all_args() {
                    self.graph.for_each_value(arg, &mut |value| work.push(value));
                }
            }
        }
    }
}
