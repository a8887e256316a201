//! Reports of workers on what they loaded.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::WorkerNote;

/// Pattern of a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedPattern {
    /// Rule name (file stem).
    pub name: String,
    /// Canonical pattern, which is compared with graphs, in wire form (`docs/reference/passes.md`).
    pub graph: Value,
    /// Original pattern, which can be run, in wire form. `None` if it has a constant that the wire form cannot express.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Value>,
}

/// Result of `Load`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// Time spent building the graph module.
    pub build_ns: u64,
    /// Time spent importing passes, matching, rewriting, and (compiled path) wrapping.
    pub rewrite_ns: u64,
    /// Nodes of the captured graph, without placeholders and output.
    pub nodes_before: usize,
    /// Nodes after rewriting.
    pub nodes_after: usize,
    /// Each pass in order of application.
    pub passes: Vec<PassReport>,
    /// The rewritten graph as Python text.
    pub rewritten: Option<String>,
    /// Facts about the rewrite.
    pub notes: Vec<WorkerNote>,
}

/// Result of one pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassReport {
    /// Rule name (file stem).
    pub name: String,
    /// Number of places that it rewrote.
    pub matches: usize,
    /// The place where the pattern came closest to a match, if it matched nowhere.
    pub nearest: Option<NearestMiss>,
}

/// Place where a pattern came closest to matching.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearestMiss {
    /// Number of pattern nodes that matched.
    pub matched: usize,
    /// Number of all pattern nodes.
    pub total: usize,
    /// Name of the graph node at which the comparison failed; empty if no node could match.
    pub node: String,
    /// Compared property: `target`, `argument`, `arity`, `escape` (a value inside the match is used outside).
    pub what: String,
    /// Value in the pattern.
    pub expected: String,
    /// Value in the graph.
    pub found: String,
}
