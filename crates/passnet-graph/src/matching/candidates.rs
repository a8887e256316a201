use super::{assignment::PartialMatch, pattern::SearchStep, prepared::PreparedGraph};
use crate::{Arg, NodeId, Use};

/// Nodes that could stand for the root of a step.
pub(super) enum Candidates<'a> {
    One(Option<NodeId>),
    /// Nodes nearest to `center` first: pieces that belong together are close to each other.
    Near {
        center: NodeId,
        /// In program order, all before the center.
        before: &'a [NodeId],
        /// In program order, the others.
        after: &'a [NodeId],
    },
    /// In program order. A node that uses the value twice is there twice, one after the other.
    Users(std::slice::Iter<'a, Use>, Option<NodeId>),
}

impl<'a> Candidates<'a> {
    fn near(center: NodeId, nodes: &'a [NodeId]) -> Self {
        let (before, after) = nodes.split_at(nodes.partition_point(|&node| node < center));
        Self::Near { center, before, after }
    }
}

impl Iterator for Candidates<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        match self {
            Self::One(node) => node.take(),
            Self::Near { center, before, after } => {
                let distance_before = before.last().map_or(u32::MAX, |node| center.0 - node.0);
                let distance_after = after.first().map_or(u32::MAX, |node| node.0 - center.0);
                if distance_before <= distance_after { before.split_off_last() } else { after.split_off_first() }
                    .copied()
            }
            Self::Users(uses, last) => {
                let node = uses.find_map(|&user| match user {
                    Use::Node(node) if Some(node) != *last => Some(node),
                    _ => None,
                })?;
                *last = Some(node);
                Some(node)
            }
        }
    }
}

/// Candidates for a step after the first, given what was chosen before it. `seed` stands for the root of the first.
pub(super) fn candidates<'a>(
    target: &'a PreparedGraph<'_>,
    assignment: &PartialMatch<'_>,
    step: SearchStep,
    seed: NodeId,
) -> Candidates<'a> {
    // An input may stand for a constant or a list, which has no list of users.
    let from = step.from.and_then(|value| assignment.partner(value)).and_then(Arg::as_value);
    match (from, assignment.op_of(step.root)) {
        (Some(value), _) => Candidates::Users(target.uses.of(value).iter(), None),
        (None, Some(op)) => Candidates::near(seed, target.nodes_of(op)),
        (None, None) => Candidates::One(None),
    }
}
