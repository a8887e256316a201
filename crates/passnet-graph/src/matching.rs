//! Subgraph matching: finds the places where a pattern, which is also a graph, occurs in a graph and may be replaced.
//!
//! Inputs of the pattern are wildcards, and its nodes stand for equal calls. Values that the pattern does not return must not be used
//! outside the match. `docs/reference/matching.md` defines this in full, with the differences from `torch.fx`.
//!
//! The search begins at a node of the pattern that no other node of the pattern uses, and follows arguments. Each argument leads to
//! exactly one node of the target. For parts of the pattern that no argument leads to, the search has to choose a node, mostly among the
//! users of one value. The plan follows VF2 (Cordella et al. 2004), for graphs whose edges are ordered arguments. The time for one
//! pattern is linear in the size of the target, except for ambiguous patterns. [`SearchLimits`] bound the search for these.
//!
//! ```
//! use passnet_graph::{Graph, matching::{SearchLimits, Pattern, PreparedGraph}};
//!
//! let chain = |names: [&str; 2]| {
//!     let mut b = Graph::builder();
//!     let x = b.input("x");
//!     let a = b.call_function(names[0], "torch.relu", &[x.into()], &[]);
//!     let c = b.call_method(names[1], "neg", &[a.into()], &[]);
//!     b.finish(&[c.into()])
//! };
//! let (target, pattern) = (chain(["a", "b"])?, chain(["p", "q"])?);
//! let found = PreparedGraph::new(&target).find(&Pattern::new(&pattern)?, SearchLimits::default())?;
//! assert_eq!(found.matches.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assignment;
mod candidates;
mod found;
mod json;
mod nearest;
mod pattern;
mod placement;
mod prepared;
mod search;

pub use self::{
    found::{Match, MatchError, Occurrences, SearchLimits},
    json::{JsonError, match_json},
    pattern::{MAX_PATTERN_NODES, Pattern, PatternError},
    prepared::PreparedGraph,
};
