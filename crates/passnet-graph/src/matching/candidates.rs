use super::{assignment::PartialMatch, pattern::SearchStep, prepared::PreparedGraph};
use crate::{Arg, NodeId, Use};

/// Nodes that could stand for the root of a step.
pub(super) enum Candidates<'a> {
    One(Option<NodeId>),
    /// Nodes sorted by their distance from `center`, because parts of a pattern that belong together are close to each other.
    Near {
        center: NodeId,
        /// Nodes before the center, in program order.
        before: &'a [NodeId],
        /// All other nodes, in program order.
        after: &'a [NodeId],
    },
    /// Users of a value, in program order. A node that uses the value twice occurs twice in succession.
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

/// Returns the candidates for a step after the first, given the earlier choices. `seed` stands for the root of the first step.
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
