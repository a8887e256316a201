//! Reports of workers on what they loaded.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::WorkerNote;

/// Pattern of a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedPattern {
    /// Rule name (file stem).
    pub name: String,
    /// Wire form of the pattern in the form in which it is compared with graphs (`docs/reference/passes.md`).
    pub graph: Value,
    /// Wire form of the pattern as it is written, which can be run; `None` if it has a constant that the form has no name for.
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
    /// If none: where it came closest.
    pub nearest: Option<NearestMiss>,
}

/// Place where a pattern came closest to matching.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearestMiss {
    /// Pattern nodes that did match.
    pub matched: usize,
    /// Pattern nodes in all.
    pub total: usize,
    /// Name of the graph node where it ended; empty if no node could match.
    pub node: String,
    /// Compared property: `target`, `argument`, `arity`, `escape` (a value inside the match is used outside).
    pub what: String,
    /// Value in the pattern.
    pub expected: String,
    /// Value in the graph.
    pub found: String,
}
