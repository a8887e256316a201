//! The nearest miss: the place where a pattern without a match came closest to one.

use passnet_record::NearestMiss;

use super::{
    assignment::{Mismatch, MismatchKind, Mode, PartialMatch},
    candidates::candidates,
    pattern::Pattern,
    prepared::PreparedGraph,
};
use crate::{NodeId, Use};

/// Largest number of node comparisons in this search. It compares the pattern with each node of the graph, so the work grows with
/// the product of both sizes, and the result is only a hint.
const MAX_COMPARISONS: u64 = 2_000_000;

/// The place where the search first failed at the deepest step that it reached.
#[derive(Default)]
pub(super) struct DeepestStep {
    /// The nodes chosen for the roots of the earlier steps.
    pub(super) chosen: Vec<NodeId>,
    /// The first refusal with the largest number of steps.
    pub(super) refused: Option<ReplacementRefusal>,
}

/// A refusal of a replacement: all calls agreed so far, but they cannot be replaced.
pub(super) struct ReplacementRefusal {
    /// Number of steps taken.
    pub(super) steps: usize,
    /// Number of pattern nodes that agreed.
    pub(super) matched: usize,
    pub(super) mismatch: Mismatch,
}

/// Chooses, among all nodes that the failed step could have begun at, the node with which most of the pattern agrees. Describes the first
/// difference from there. Nodes next to earlier choices are tried first, then calls of the same op, then all nodes. Of equally good
/// nodes, the first is chosen.
pub(super) fn nearest(
    target: &PreparedGraph<'_>,
    pattern: &Pattern<'_>,
    assignment: &mut PartialMatch<'_>,
    progress: DeepestStep,
) -> NearestMiss {
    let describe = Describe { target, pattern };
    if let Some(refusal) = progress.refused.filter(|refusal| refusal.steps > progress.chosen.len()) {
        return describe.mismatch(refusal.matched, refusal.mismatch, assignment);
    }
    assignment.undo(0);
    let mut matched = 0;
    for (step, &node) in pattern.steps.iter().zip(&progress.chosen) {
        matched += assignment.compare(step.root, node, Mode::Strict).matched;
    }
    let step = pattern.steps[progress.chosen.len()];
    let tied = progress.chosen.first().map(|&seed| candidates(target, assignment, step, seed).collect::<Vec<_>>());
    let same_op = assignment.op_of(step.root).map_or(&[][..], |op| target.nodes_of(op));
    let all = (0..target.graph.num_nodes() as u32).map(NodeId);

    let (mark, limit) = (assignment.mark(), assignment.compared + MAX_COMPARISONS);
    let mut best: Option<(usize, NodeId)> = None;
    for candidate in tied.into_iter().flatten().chain(same_op.iter().copied()).chain(all) {
        if !target.live[candidate.index()] || assignment.stands_for(candidate).is_some() {
            continue;
        }
        // This bound is separate from that of the search, because the explanation of a miss must not take longer than the search itself.
        if assignment.compared > limit {
            break;
        }
        let comparison = assignment.compare(step.root, candidate, Mode::Tolerant);
        assignment.undo(mark);
        if comparison.mismatch.is_some() && best.is_none_or(|(most, _)| comparison.matched > most) {
            best = Some((comparison.matched, candidate));
        }
    }
    let best = best.filter(|&(most, _)| matched + most > 0 || assignment.op_of(step.root).is_some());
    let comparison = best.map(|(_, candidate)| assignment.compare(step.root, candidate, Mode::Tolerant));
    match comparison.map(|comparison| (comparison.matched, comparison.mismatch)) {
        Some((more, Some(mismatch))) => describe.mismatch(matched + more, mismatch, assignment),
        _ => describe.nothing(step.root),
    }
}

struct Describe<'d> {
    target: &'d PreparedGraph<'d>,
    pattern: &'d Pattern<'d>,
}

impl Describe<'_> {
    fn nothing(&self, root: NodeId) -> NearestMiss {
        NearestMiss {
            matched: 0,
            total: self.pattern.num_live,
            node: String::new(),
            what: "target".to_owned(),
            expected: self.pattern_call(root),
            found: format!("no call of `{}` in the graph", self.pattern.graph.node(root).callee.target()),
        }
    }

    fn mismatch(&self, matched: usize, mismatch: Mismatch, assignment: &PartialMatch<'_>) -> NearestMiss {
        let Mismatch { pattern, target, kind } = mismatch;
        let ours = self.pattern.graph.node(pattern).name;
        let theirs = self.target.graph.node(target).name;
        let input = |input| self.pattern.graph.name(input);
        let calls = || (self.pattern_call(pattern), self.target.graph.call_text(target).to_string());
        let (what, (expected, found)) = match kind {
            MismatchKind::Target => ("target", calls()),
            MismatchKind::Arity => ("arity", calls()),
            MismatchKind::Argument => ("argument", calls()),
            MismatchKind::Rebound { input: value, bound } => {
                let (expected, found) = calls();
                let bound = self.target.graph.arg_text(bound);
                ("argument", (format!("{expected} with `{}` standing for `{bound}`", input(value)), found))
            }
            MismatchKind::Shared { other } => {
                let other = self.pattern.graph.node(other).name;
                ("argument", (format!("two nodes for `{other}` and `{ours}`"), format!("`{theirs}` for both")))
            }
            MismatchKind::Escape | MismatchKind::Inside { .. } => ("escape", self.escape(&mismatch, assignment)),
            MismatchKind::NoPlace { .. } | MismatchKind::Storage { .. } | MismatchKind::Reordered { .. } => {
                ("order", self.order(&mismatch))
            }
        };
        NearestMiss {
            matched,
            total: self.pattern.num_live,
            node: theirs.to_owned(),
            what: what.to_owned(),
            expected,
            found,
        }
    }

    /// Returns the expected and the found place where a value is used outside of the match, or computed inside.
    fn escape(&self, mismatch: &Mismatch, assignment: &PartialMatch<'_>) -> (String, String) {
        let Mismatch { pattern, target, kind } = *mismatch;
        match kind {
            MismatchKind::Inside { input, value: bound } => (
                format!("`{}` standing for a value computed outside the match", self.pattern.graph.name(input)),
                format!("`{}`, which the match computes", self.target.graph.name(bound)),
            ),
            _ => {
                let ours = self.pattern.graph.node(pattern).name;
                let theirs = self.target.graph.node(target).name;
                (
                    format!("`{theirs}` used only inside the match (else the pattern must return its `{ours}`)"),
                    self.outside_use(pattern, target, assignment),
                )
            }
        }
    }

    /// Returns the expected and the found order where the replacement has no place, or nodes are in another order.
    fn order(&self, mismatch: &Mismatch) -> (String, String) {
        let Mismatch { pattern, target, kind } = *mismatch;
        match kind {
            MismatchKind::NoPlace { input, user } => (
                format!("`{}` computed before anything uses what the pattern returns", self.pattern.graph.name(input)),
                format!("`{}` uses it before", self.target_line(user)),
            ),
            MismatchKind::Storage { node } => (
                "nothing else that changes what the match reads, or uses what it changes, between its nodes".to_owned(),
                format!("`{}`", self.target_line(node)),
            ),
            MismatchKind::Reordered { other } => {
                let ours = self.pattern.graph.node(pattern).name;
                (
                    format!("the change made by `{ours}` where the pattern makes it"),
                    format!("`{}` on the other side of `{}`", self.target_line(other), self.target_line(target)),
                )
            }
            _ => (self.pattern_call(pattern), self.target.graph.call_text(target).to_string()),
        }
    }

    fn outside_use(&self, pattern: NodeId, target: NodeId, assignment: &PartialMatch<'_>) -> String {
        let uses = self.target.uses.of(self.target.graph.value_of(target));
        let outside = uses.iter().find(|&&user| match user {
            Use::Node(node) => self.target.live[node.index()] && assignment.stands_for(node).is_none(),
            Use::Output => true,
        });
        match outside {
            Some(&Use::Node(node)) => format!("`{}`", self.target_line(node)),
            Some(Use::Output) => "the graph returns it".to_owned(),
            None => {
                let expected = self.pattern.live_uses[self.pattern.graph.value_of(pattern).index()];
                format!("{} uses instead of {expected}", uses.len())
            }
        }
    }

    fn pattern_call(&self, node: NodeId) -> String {
        self.pattern.graph.call_text(node).to_string()
    }

    fn target_line(&self, node: NodeId) -> String {
        format!("{} = {}", self.target.graph.node(node).name, self.target.graph.call_text(node))
    }
}
