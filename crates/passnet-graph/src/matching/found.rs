use passnet_record::NearestMiss;

use crate::{Arg, NodeId};

/// One occurrence of a pattern.
#[derive(Clone, Debug)]
pub struct Match {
    /// For each node of the pattern, the node of the target that it matches; `None` for a dead node of the pattern.
    pub nodes: Vec<Option<NodeId>>,
    /// For each input of the pattern, the argument of the target that it matches; `None` if no node uses it.
    pub inputs: Vec<Option<Arg>>,
    /// Dead nodes of the target outside the match that use a value of the match. They must be removed together with the match.
    pub dead: Vec<NodeId>,
    /// The replacement is inserted right after this node. If several matches have the same node, their replacements are inserted in the
    /// order of the matches.
    pub insert_after: NodeId,
}

/// All occurrences of a pattern in a graph.
#[derive(Clone, Debug)]
pub struct Occurrences {
    /// The matches share no node, so all of them may be replaced at once.
    pub matches: Vec<Match>,
    /// The place where the pattern came closest to a match; `None` if there is a match.
    pub nearest: Option<NearestMiss>,
}

/// Bounds of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// Largest number of comparisons of a pattern node with a target node.
    pub comparisons: u64,
}

impl Default for SearchLimits {
    /// Returns a limit of fifty million comparisons, which take a few seconds.
    fn default() -> Self {
        Self { comparisons: 50_000_000 }
    }
}

/// Reason why a search was stopped early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// The parts of the pattern can be combined in too many ways.
    #[error(
        "the pattern fits in too many ways: gave up after {limit} comparisons; connect its parts, or split it into \
         several patterns"
    )]
    TooAmbiguous {
        /// The limit that was reached.
        limit: u64,
    },
}
