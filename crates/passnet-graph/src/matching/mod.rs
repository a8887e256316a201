//! Subgraph matching: where does a pattern, itself a graph, occur in a graph, and may it be replaced there?
//!
//! Inputs of the pattern are wildcards; its nodes stand for equal calls; values that it does not return must not be used
//! outside the match. `docs/matching.md` defines this in full, with the differences from `torch.fx`.
//!
//! The search begins at a node of the pattern that nothing in it uses, and follows arguments, where nothing is left to
//! choose; only parts of the pattern that no argument leads to need a choice, mostly among the users of one value
//! (a plan in the manner of VF2, Cordella et al. 2004, for graphs whose edges are ordered arguments). One pattern costs
//! time linear in the target, unless the pattern is ambiguous on purpose; [`Limits`] bound it then.
//!
//! ```
//! use passnet_graph::{Graph, matching::{Limits, Pattern, Target}};
//!
//! let chain = |names: [&str; 2]| {
//!     let mut b = Graph::builder();
//!     let x = b.input("x");
//!     let a = b.call_function(names[0], "torch.relu", &[x.into()], &[]);
//!     let c = b.call_method(names[1], "neg", &[a.into()], &[]);
//!     b.finish(&[c.into()])
//! };
//! let (target, pattern) = (chain(["a", "b"])?, chain(["p", "q"])?);
//! let found = Target::new(&target).find(&Pattern::new(&pattern)?, Limits::default())?;
//! assert_eq!(found.matches.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assignment;
pub(crate) mod effects;
mod json;
mod nearest;
mod pattern;
mod placement;
mod search;
mod target;

use passnet_record::NearestMiss;

pub use self::{
    json::{JsonError, match_json},
    pattern::{MAX_PATTERN_NODES, Pattern, PatternError},
    target::Target,
};
use crate::{Arg, NodeId};

/// One occurrence of a pattern.
#[derive(Clone, Debug)]
pub struct Match {
    /// For each node of the pattern the node of the target that it stands for; `None` for a pattern node that nothing
    /// depends on.
    pub nodes: Vec<Option<NodeId>>,
    /// For each input of the pattern what it stands for, as an argument of the target; `None` if no node uses it.
    pub inputs: Vec<Option<Arg>>,
    /// Nodes of the target outside the match that nothing depends on but that use a value which vanishes with the
    /// match. They must be erased with it.
    pub dead: Vec<NodeId>,
    /// The replacement goes right after this node; of several matches with the same one, in the order of matches.
    pub insert_after: NodeId,
}

/// All occurrences of a pattern.
#[derive(Clone, Debug)]
pub struct Found {
    /// They share no node. All of them may be replaced at once.
    pub matches: Vec<Match>,
    /// Where the pattern came closest; only if there is no match.
    pub nearest: Option<NearestMiss>,
}

/// Bounds of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most comparisons of a pattern node with a target node.
    pub comparisons: u64,
}

impl Default for Limits {
    /// Fifty million comparisons: a few seconds.
    fn default() -> Self {
        Self { comparisons: 50_000_000 }
    }
}

/// Why a search was given up.
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

impl Target<'_> {
    /// Finds all matches of a pattern, in program order of the node that stands for the pattern's first sink (node
    /// that nothing in the pattern uses). Where matches overlap, the first one counts.
    ///
    /// # Errors
    /// If the search exceeds `limits`.
    pub fn find(&self, pattern: &Pattern<'_>, limits: Limits) -> Result<Found, MatchError> {
        search::find(self, pattern, limits)
    }
}
