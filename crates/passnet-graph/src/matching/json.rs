//! Matching for the Python package: both the question and the answer are JSON. `docs/reference/matching.md` defines their form.

use serde_json::{Value, json};

use super::{
    found::{Match, MatchError, SearchLimits},
    pattern::{Pattern, PatternError},
    prepared::PreparedGraph,
};
use crate::{
    Arg, Graph,
    wire::{self, WireError},
};

/// Version of the form of the answer.
const VERSION: u64 = 1;

/// Reason why matching has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The target is not a wire form of a graph.
    #[error("target graph: {0}")]
    Target(#[source] WireError),
    /// The pattern is not a wire form of a graph.
    #[error("pattern graph: {0}")]
    PatternGraph(#[source] WireError),
    /// The pattern cannot be searched for.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The search was stopped early.
    #[error(transparent)]
    Match(#[from] MatchError),
}

/// Finds all matches of one pattern. Both graphs are in wire form.
///
/// # Errors
/// If a graph cannot be read, or the pattern cannot be searched for within the default [`SearchLimits`].
pub fn match_json(target: &str, pattern: &str) -> Result<String, JsonError> {
    let target = wire::from_json(target).map_err(JsonError::Target)?;
    let pattern = wire::from_json(pattern).map_err(JsonError::PatternGraph)?;
    let found = PreparedGraph::new(&target).find(&Pattern::new(&pattern)?, SearchLimits::default())?;
    let matches: Vec<Value> = found.matches.iter().map(|found| values(&target, found)).collect();
    let places: Vec<Value> = found.matches.iter().map(|found| place(&target, found)).collect();
    Ok(json!({"version": VERSION, "matches": matches, "places": places, "nearest": found.nearest}).to_string())
}

/// Returns for each value of the pattern the value or argument that stands for it.
fn values(target: &Graph, found: &Match) -> Value {
    let inputs = found.inputs.iter().map(|input| match *input {
        None => Value::Null,
        Some(Arg::Value(value)) => value.0.into(),
        Some(arg) => json!({"arg": wire::arg_to_value(target, arg)}),
    });
    let nodes = found.nodes.iter().map(|node| node.map(|node| target.value_of(node).0).into());
    inputs.chain(nodes).collect()
}

fn place(target: &Graph, found: &Match) -> Value {
    let dead: Vec<u32> = found.dead.iter().map(|&node| target.value_of(node).0).collect();
    json!({"insert_after": target.value_of(found.insert_after).0, "dead": dead})
}
