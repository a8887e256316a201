//! Where a pattern without a match came closest to one.

use passnet_record::NearestMiss;

use super::{
    Pattern, Target,
    assignment::{Assignment, Kind, Mismatch, Mode},
    search::{Progress, candidates},
};
use crate::{NodeId, Use};

/// Most node comparisons that are spent here.
const MAX_COMPARISONS: u64 = 2_000_000;

/// Among all nodes that the stuck step could have begun at, takes the one from which most of the pattern agrees, and
/// says what differs first. What is tied to the nodes chosen before is tried first, then calls of the same op, then all nodes;
/// of equals the first is taken.
pub(super) fn nearest(
    target: &Target<'_>,
    pattern: &Pattern<'_>,
    assignment: &mut Assignment<'_>,
    progress: Progress,
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
    target: &'d Target<'d>,
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

    fn mismatch(&self, matched: usize, mismatch: Mismatch, assignment: &Assignment<'_>) -> NearestMiss {
        let Mismatch { pattern, target, kind } = mismatch;
        let ours = self.pattern.graph.node(pattern).name;
        let theirs = self.target.graph.node(target).name;
        let input = |input| self.pattern.graph.name(input);
        let calls = || (self.pattern_call(pattern), self.target.graph.call_text(target).to_string());
        let (what, (expected, found)) = match kind {
            Kind::Target => ("target", calls()),
            Kind::Arity => ("arity", calls()),
            Kind::Argument => ("argument", calls()),
            Kind::Rebound { input: value, bound } => {
                let (expected, found) = calls();
                let bound = self.target.graph.arg_text(bound);
                ("argument", (format!("{expected} with `{}` standing for `{bound}`", input(value)), found))
            }
            Kind::Shared { other } => {
                let other = self.pattern.graph.node(other).name;
                ("argument", (format!("two nodes for `{other}` and `{ours}`"), format!("`{theirs}` for both")))
            }
            Kind::Escape => (
                "escape",
                (
                    format!("`{theirs}` used only inside the match (else the pattern must return its `{ours}`)"),
                    self.outside_use(pattern, target, assignment),
                ),
            ),
            Kind::Inside { input: value, value: bound } => (
                "escape",
                (
                    format!("`{}` standing for a value computed outside the match", input(value)),
                    format!("`{}`, which the match computes", self.target.graph.name(bound)),
                ),
            ),
            Kind::NoPlace { input: value, user } => (
                "order",
                (
                    format!("`{}` computed before anything uses what the pattern returns", input(value)),
                    format!("`{}` uses it before", self.target_line(user)),
                ),
            ),
            Kind::Storage { node } => (
                "order",
                (
                    "nothing else that changes what the match reads, or uses what it changes, between its nodes".into(),
                    format!("`{}`", self.target_line(node)),
                ),
            ),
            Kind::Reordered { other } => (
                "order",
                (
                    format!("the change made by `{ours}` where the pattern makes it"),
                    format!("`{}` on the other side of `{}`", self.target_line(other), self.target_line(target)),
                ),
            ),
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

    fn outside_use(&self, pattern: NodeId, target: NodeId, assignment: &Assignment<'_>) -> String {
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
