use super::{pattern::Pattern, prepared::PreparedGraph};
use crate::{Arg, NodeId, OpId, ValueId};

/// A difference between a pattern and a target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mismatch {
    pub(super) pattern: NodeId,
    pub(super) target: NodeId,
    pub(super) kind: MismatchKind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum MismatchKind {
    /// A different function or method, or a node that cannot be matched.
    Target,
    /// Different numbers of arguments, or different keywords.
    Arity,
    /// An argument with a different constant or structure.
    Argument,
    /// The input `input` stands for two different things.
    Rebound { input: ValueId, bound: Arg },
    /// Two nodes of the pattern would share a node of the target.
    Shared { other: NodeId },
    /// A value that the pattern does not return is used outside the match.
    Escape,
    /// The match computes the value that an input stands for.
    Inside { input: ValueId, value: ValueId },
    /// There is no place for a replacement: `input` is computed after `user`, the first use of the outputs.
    NoPlace { input: ValueId, user: NodeId },
    /// `node`, outside the match but between its nodes, shares storage that one of them changes.
    Storage { node: NodeId },
    /// A node that changes storage and another node of the match are in a different order than in the pattern.
    Reordered { other: NodeId },
}

/// Result of the comparison of a node and all nodes that it depends on.
pub(super) struct NodeComparison {
    /// Number of pattern nodes that agree.
    pub(super) matched: usize,
    /// The first disagreement.
    pub(super) mismatch: Option<Mismatch>,
}

/// Reaction of a comparison to a disagreement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Stops at the first disagreement.
    Strict,
    /// Compares the rest, to count how many nodes agree.
    Tolerant,
}

enum Set {
    Node(NodeId),
    Input(ValueId),
}

/// A partial match: the target nodes that stand for pattern nodes, and the arguments that stand for inputs of the pattern.
pub(super) struct PartialMatch<'a> {
    target: &'a PreparedGraph<'a>,
    pattern: &'a Pattern<'a>,
    /// For each op of the pattern, the op of the target with the same callee.
    ops: Vec<Option<OpId>>,
    /// For each node of the pattern, the node of the target that stands for it.
    nodes: Vec<Option<NodeId>>,
    /// For each input of the pattern, the argument that stands for it.
    inputs: Vec<Option<Arg>>,
    /// For each node of the target, the node of the pattern that it stands for.
    stands_for: Vec<Option<NodeId>>,
    /// For each node of the target, the earlier match that it belongs to.
    owner: Vec<Option<u32>>,
    /// Assignments in the order in which they were made, to undo them.
    trail: Vec<Set>,
    /// Pairs whose arguments are still to be compared, and whether the calls themselves agree.
    pending: Vec<(NodeId, NodeId, bool)>,
    /// Number of comparisons of nodes so far.
    pub(super) compared: u64,
}

impl<'a> PartialMatch<'a> {
    pub(super) fn new(target: &'a PreparedGraph<'a>, pattern: &'a Pattern<'a>) -> Self {
        let graph = pattern.graph;
        Self {
            target,
            pattern,
            ops: (0..graph.num_ops() as u32).map(|op| target.op(graph.callee(OpId(op)))).collect(),
            nodes: vec![None; graph.num_nodes()],
            inputs: vec![None; graph.num_inputs()],
            stands_for: vec![None; target.graph.num_nodes()],
            owner: vec![None; target.graph.num_nodes()],
            trail: Vec::new(),
            pending: Vec::new(),
            compared: 0,
        }
    }

    /// Returns the target's op that is the same as that of a pattern node.
    pub(super) fn op_of(&self, node: NodeId) -> Option<OpId> {
        self.ops[self.pattern.graph.node(node).op.index()]
    }

    pub(super) fn nodes(&self) -> &[Option<NodeId>] {
        &self.nodes
    }

    pub(super) fn inputs(&self) -> &[Option<Arg>] {
        &self.inputs
    }

    /// Returns the argument that stands for a value of the pattern.
    pub(super) fn partner(&self, value: ValueId) -> Option<Arg> {
        match self.pattern.graph.node_of(value) {
            None => self.inputs[value.index()],
            Some(node) => self.nodes[node.index()].map(|node| Arg::Value(self.target.graph.value_of(node))),
        }
    }

    /// Returns the pattern node that a target node stands for.
    pub(super) fn stands_for(&self, node: NodeId) -> Option<NodeId> {
        self.stands_for[node.index()]
    }

    /// Returns the earlier match that a target node belongs to.
    pub(super) fn owner(&self, node: NodeId) -> Option<u32> {
        self.owner[node.index()]
    }

    /// Marks the nodes of the current assignment as part of the finished match `number`.
    pub(super) fn claim(&mut self, number: u32) {
        for node in self.nodes.iter().flatten() {
            self.owner[node.index()] = Some(number);
        }
    }

    /// Returns a mark of the current state, which [`Self::undo`] restores.
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    pub(super) fn undo(&mut self, mark: usize) {
        // The order does not matter, because each assignment is undone independently.
        for set in self.trail.drain(mark..) {
            match set {
                Set::Node(node) => {
                    if let Some(target) = self.nodes[node.index()].take() {
                        self.stands_for[target.index()] = None;
                    }
                }
                Set::Input(input) => self.inputs[input.index()] = None,
            }
        }
    }

    /// Assigns `target` to `pattern`, and then their arguments, as far as they depend on nodes.
    pub(super) fn compare(&mut self, pattern: NodeId, target: NodeId, mode: Mode) -> NodeComparison {
        let mut result = NodeComparison { matched: 0, mismatch: None };
        self.pending.clear();
        self.enter(pattern, target, mode, &mut result);
        while let Some((pattern, target, agrees)) = self.pending.pop() {
            if mode == Mode::Strict && result.mismatch.is_some() {
                break;
            }
            let start = self.pending.len();
            if self.compare_call(pattern, target, mode, &mut result) && agrees {
                result.matched += 1;
            }
            // Reversed, so that the first argument is compared first.
            self.pending[start..].reverse();
        }
        result
    }

    fn enter(&mut self, pattern: NodeId, target: NodeId, mode: Mode, result: &mut NodeComparison) {
        self.compared += 1;
        let kind = self.obstacle(pattern, target);
        if let Some(kind) = kind {
            result.mismatch.get_or_insert(Mismatch { pattern, target, kind });
            // Even in tolerant mode, one node must not stand for two pattern nodes: if one assignment were undone, the node would be free
            // although the other still uses it.
            if mode == Mode::Strict || matches!(kind, MismatchKind::Shared { .. }) {
                return;
            }
        }
        self.nodes[pattern.index()] = Some(target);
        self.stands_for[target.index()] = Some(pattern);
        self.trail.push(Set::Node(pattern));
        self.pending.push((pattern, target, kind.is_none()));
    }

    /// Returns the reason, other than arguments, why `target` cannot stand for `pattern`.
    fn obstacle(&self, pattern: NodeId, target: NodeId) -> Option<MismatchKind> {
        let (ours, theirs) = (self.pattern.graph.node(pattern), self.target.graph.node(target));
        if let Some(other) = self.stands_for[target.index()] {
            return Some(MismatchKind::Shared { other });
        }
        // Matches share no node, because all of them are replaced at once.
        let is_free = self.target.live[target.index()] && self.owner[target.index()].is_none();
        if self.ops[ours.op.index()] != Some(theirs.op) || !is_free {
            return Some(MismatchKind::Target);
        }
        // The calls agree in all arguments, so each use inside the pattern is one use inside the match. Further uses are outside.
        let escapes = !self.pattern.is_output[pattern.index()]
            && self.target.live_uses[theirs.value.index()] > self.pattern.live_uses[ours.value.index()];
        escapes.then_some(MismatchKind::Escape)
    }

    /// Compares the arguments of two calls, but not the nodes that the arguments refer to. Returns false if the arguments differ.
    fn compare_call(&mut self, pattern: NodeId, target: NodeId, mode: Mode, result: &mut NodeComparison) -> bool {
        let (ours, theirs) = (self.pattern.graph.node(pattern), self.target.graph.node(target));
        let mut kind = None;
        if ours.args.len() != theirs.args.len() || ours.kwargs.len() != theirs.kwargs.len() {
            kind = Some(MismatchKind::Arity);
        }
        for (&ours, &theirs) in ours.args.iter().zip(theirs.args) {
            if mode == Mode::Tolerant || kind.is_none() {
                kind = kind.or(self.compare_arg(ours, theirs, mode, result));
            }
        }
        for (index, &(key, arg)) in ours.kwargs.iter().enumerate() {
            let key = self.pattern.graph.str(key);
            let has_key = |&&(other, _): &&(_, Arg)| self.target.graph.str(other) == key;
            // Keywords are mostly in the same order, so the same position is tried first.
            let same = theirs.kwargs.get(index).filter(has_key).or_else(|| theirs.kwargs.iter().find(has_key));
            if mode == Mode::Tolerant || kind.is_none() {
                let difference = match same {
                    Some(&(_, theirs)) => self.compare_arg(arg, theirs, mode, result),
                    None => Some(MismatchKind::Arity),
                };
                kind = kind.or(difference);
            }
        }
        if let Some(kind) = kind {
            result.mismatch.get_or_insert(Mismatch { pattern, target, kind });
        }
        kind.is_none()
    }

    /// Compares two arguments. Recurses into lists, tuples and slices, which nest at most [`crate::verify::MAX_ARG_DEPTH`] deep.
    fn compare_arg(&mut self, ours: Arg, theirs: Arg, mode: Mode, result: &mut NodeComparison) -> Option<MismatchKind> {
        let graph = self.pattern.graph;
        let is_same = match (ours, theirs) {
            (Arg::Value(value), _) => {
                let Some(node) = graph.node_of(value) else { return self.bind(value, theirs) };
                let theirs = theirs.as_value().and_then(|value| self.target.graph.node_of(value));
                match (self.nodes[node.index()], theirs) {
                    (None, Some(theirs)) => {
                        self.enter(node, theirs, mode, result);
                        true
                    }
                    (known, theirs) => known.is_some() && known == theirs,
                }
            }
            (Arg::List(a) | Arg::Tuple(a), Arg::List(b) | Arg::Tuple(b)) | (Arg::Slice(a), Arg::Slice(b)) => {
                let (ours, theirs) = (graph.elements(a), self.target.graph.elements(b));
                let mut kind = (ours.len() != theirs.len()).then_some(MismatchKind::Argument);
                for (&ours, &theirs) in ours.iter().zip(theirs) {
                    if mode == Mode::Tolerant || kind.is_none() {
                        kind = kind.or(self.compare_arg(ours, theirs, mode, result));
                    }
                }
                return kind;
            }
            _ => graph.args_match(ours, self.target.graph, theirs, &mut |_, _| false),
        };
        (!is_same).then_some(MismatchKind::Argument)
    }

    fn bind(&mut self, input: ValueId, arg: Arg) -> Option<MismatchKind> {
        match self.inputs[input.index()] {
            None => {
                self.inputs[input.index()] = Some(arg);
                self.trail.push(Set::Input(input));
                None
            }
            Some(bound) => (!self.is_same(bound, arg)).then_some(MismatchKind::Rebound { input, bound }),
        }
    }

    /// Returns whether two arguments of the target are the same; a list is the same as a tuple of its elements.
    fn is_same(&self, a: Arg, b: Arg) -> bool {
        let graph = self.target.graph;
        match (a, b) {
            (Arg::List(a) | Arg::Tuple(a), Arg::List(b) | Arg::Tuple(b)) | (Arg::Slice(a), Arg::Slice(b)) => {
                let (a, b) = (graph.elements(a), graph.elements(b));
                a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| self.is_same(a, b))
            }
            _ => graph.args_match(a, graph, b, &mut |a, b| a == b),
        }
    }
}
