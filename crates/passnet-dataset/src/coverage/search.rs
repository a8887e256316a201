//! Search for every pattern in every graph.

use passnet_graph::{
    Graph,
    matching::{Match, Pattern, PreparedGraph, SearchLimits},
};
use rayon::prelude::*;

/// Number of comparisons after which the search for one pattern in one graph is given up.
const MAX_COMPARISONS: u64 = 5_000_000;

/// Pattern of a pass.
#[derive(Clone, Debug)]
pub struct NamedPattern {
    /// The pass directory, as the user named it.
    pub directory: String,
    /// Rule name.
    pub name: String,
    /// The pattern in canonical form.
    pub graph: Graph,
}

/// Matches of one pattern in one graph; at least one.
#[derive(Clone, Debug)]
pub struct Places {
    /// Number of the graph in the corpus.
    pub graph: usize,
    /// Number of the pattern.
    pub pattern: usize,
    /// The matches, which share no node.
    pub matches: Vec<Match>,
}

/// Number of a pattern that cannot be searched for, with the reason.
type Unsearchable = (usize, String);

/// Returns all matches, in the order of graphs and then of patterns, and the patterns that cannot be searched for, with the
/// reasons.
pub fn find(graphs: &[Graph], patterns: &[NamedPattern]) -> (Vec<Places>, Vec<Unsearchable>) {
    let mut errors = Vec::new();
    let mut prepared = Vec::new();
    for (number, pattern) in patterns.iter().enumerate() {
        match Pattern::new(&pattern.graph) {
            Ok(pattern) => prepared.push((number, pattern)),
            Err(error) => errors.push((number, error.to_string())),
        }
    }
    let found: Vec<(Vec<Places>, Vec<Unsearchable>)> =
        graphs.par_iter().enumerate().map(|(number, graph)| find_in(number, graph, &prepared)).collect();
    let mut places = Vec::new();
    for (here, failed) in found {
        places.extend(here);
        errors.extend(failed);
    }
    errors.sort();
    // If a pattern is too ambiguous for one graph, it is so for many. One message is enough.
    errors.dedup_by_key(|(pattern, _)| *pattern);
    (places, errors)
}

fn find_in(number: usize, graph: &Graph, patterns: &[(usize, Pattern<'_>)]) -> (Vec<Places>, Vec<Unsearchable>) {
    // Most patterns do not occur in most graphs, which a comparison of their ops shows.
    let may: Vec<_> = patterns.iter().filter(|(_, pattern)| pattern.may_occur_in(graph)).collect();
    if may.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let target = PreparedGraph::new(graph);
    let (mut places, mut errors) = (Vec::new(), Vec::new());
    for (pattern, prepared) in may {
        match target.find(prepared, SearchLimits { comparisons: MAX_COMPARISONS }) {
            Ok(found) if found.matches.is_empty() => {}
            Ok(found) => places.push(Places { graph: number, pattern: *pattern, matches: found.matches }),
            Err(error) => errors.push((*pattern, error.to_string())),
        }
    }
    (places, errors)
}
