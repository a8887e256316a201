//! Conflicts between patterns that match the same nodes. The pass that is applied first replaces them.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Serialize;

use super::search::Places;

/// Two passes with matches that share nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// Number of the pass that is applied first.
    pub first: usize,
    /// Number of the other pass.
    pub second: usize,
    /// Number of graphs in which the two passes conflict.
    pub graphs: usize,
    /// Number of pairs of matches that share nodes.
    pub overlaps: usize,
    /// Number of matches of the second pass that share nodes with a match of the first.
    pub lost: usize,
}

/// Returns all pairs of patterns in conflict, those with the most overlaps first.
pub fn conflicts(places: &[Places]) -> Vec<Conflict> {
    let by_graph: Vec<&[Places]> = places.chunk_by(|a, b| a.graph == b.graph).collect();
    let counts: Vec<BTreeMap<(usize, usize), (usize, usize)>> =
        by_graph.into_par_iter().map(conflicts_in_graph).collect();
    let mut total: BTreeMap<(usize, usize), Conflict> = BTreeMap::new();
    for ((first, second), (overlaps, lost)) in counts.into_iter().flatten() {
        let conflict =
            total.entry((first, second)).or_insert(Conflict { first, second, graphs: 0, overlaps: 0, lost: 0 });
        conflict.graphs += 1;
        conflict.overlaps += overlaps;
        conflict.lost += lost;
    }
    let mut conflicts: Vec<Conflict> = total.into_values().collect();
    // The sort is stable, so pairs with equal counts stay in the order of passes.
    conflicts.sort_by_key(|conflict| std::cmp::Reverse(conflict.overlaps));
    conflicts
}

/// Returns the numbers of overlaps and of lost matches for each pair of patterns in one graph.
fn conflicts_in_graph(places: &[Places]) -> BTreeMap<(usize, usize), (usize, usize)> {
    // For each node, the matches that contain it, in the order of patterns.
    let mut owners: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for places in places {
        for (number, found) in places.matches.iter().enumerate() {
            for node in found.nodes.iter().flatten() {
                owners.entry(node.0).or_default().push((places.pattern, number));
            }
        }
    }
    // A set, because two matches that share several nodes overlap once.
    let mut pairs = BTreeSet::new();
    for matches in owners.values() {
        for (index, &first) in matches.iter().enumerate() {
            pairs.extend(matches[index + 1..].iter().map(|&second| (first, second)));
        }
    }
    let mut counts: BTreeMap<(usize, usize), (usize, BTreeSet<usize>)> = BTreeMap::new();
    for ((first, _), (second, number)) in pairs {
        let (overlaps, lost) = counts.entry((first, second)).or_default();
        *overlaps += 1;
        lost.insert(number);
    }
    counts.into_iter().map(|(pair, (overlaps, lost))| (pair, (overlaps, lost.len()))).collect()
}

#[cfg(test)]
mod tests {
    use passnet_graph::{NodeId, matching::Match};

    use super::*;

    fn places(graph: usize, pattern: usize, matches: &[&[u32]]) -> Places {
        let found = |nodes: &&[u32]| Match {
            nodes: nodes.iter().map(|&node| Some(NodeId(node))).collect(),
            inputs: Vec::new(),
            dead: Vec::new(),
            insert_after: NodeId(0),
        };
        Places { graph, pattern, matches: matches.iter().map(found).collect() }
    }

    #[test]
    fn overlaps_are_counted_by_pair_and_graph() {
        let all = [
            places(0, 0, &[&[0, 1], &[4, 5]]),
            places(0, 1, &[&[1, 4], &[7]]),
            places(1, 1, &[&[0]]),
            places(2, 0, &[&[0]]),
            places(2, 2, &[&[1]]),
        ];
        let expected = Conflict { first: 0, second: 1, graphs: 1, overlaps: 2, lost: 1 };
        assert_eq!(conflicts(&all), [expected]);
    }
}
