//! Results by family of graphs: element type, size of the outputs, and time of the graph in eager mode.

use std::collections::BTreeMap;

use passnet_record::{GraphId, Status, Verdict};

use crate::view::RunView;

/// Graphs that share a property.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Family {
    /// Property, such as `Element type`.
    pub(crate) property: &'static str,
    /// Value of the property, such as `float32`.
    pub(crate) value: String,
    /// Number of graphs.
    pub(crate) graphs: usize,
    /// Result of each run, in the order given.
    pub(crate) results: Vec<FamilyResult>,
}

/// Result of one run over a family.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FamilyResult {
    /// Geometric mean speed-up over correct, timed graphs; `None` if there are none.
    pub(crate) speedup: Option<f64>,
    pub(crate) correct: usize,
    /// Graphs of the family that the run has a verdict on.
    pub(crate) graphs: usize,
}

/// Values of one property: bounds below which each name but the last applies.
struct Scale {
    property: &'static str,
    bounds: [f64; 2],
    names: [&'static str; 3],
}

const SIZE: Scale = Scale {
    property: "Largest output",
    bounds: [1e4, 1e6],
    names: ["under 10,000 elements", "10,000 to a million", "a million or more"],
};
const TIME: Scale =
    Scale { property: "Eager time", bounds: [2e4, 2e5], names: ["under 20 µs", "20 to 200 µs", "200 µs or more"] };

impl Scale {
    /// Returns the position of a number's range.
    fn position(&self, number: f64) -> usize {
        self.bounds.iter().filter(|&&bound| number >= bound).count()
    }
}

/// Properties of a graph as measured: its key sorts families in the order in which they are shown.
type Key = (usize, usize, String);

/// Groups the graphs of runs over one suite. Properties come from any run that has outputs and times of a graph.
pub(crate) fn families(runs: &[&RunView]) -> Vec<Family> {
    let mut keys: BTreeMap<&GraphId, Vec<Key>> = BTreeMap::new();
    for verdict in runs.iter().flat_map(|run| &run.verdicts) {
        let known = keys.entry(&verdict.id).or_default();
        for key in properties(verdict) {
            // Times differ from run to run; the first run decides.
            if !known.iter().any(|(property, ..)| *property == key.0) {
                known.push(key);
            }
        }
    }
    let mut groups: BTreeMap<&Key, Vec<&GraphId>> = BTreeMap::new();
    for (graph, keys) in &keys {
        for key in keys {
            groups.entry(key).or_default().push(graph);
        }
    }
    let by_graph: Vec<BTreeMap<&GraphId, &Verdict>> =
        runs.iter().map(|run| run.verdicts.iter().map(|verdict| (&verdict.id, verdict)).collect()).collect();
    groups
        .into_iter()
        .map(|((property, _, value), graphs)| Family {
            property: ["Element type", SIZE.property, TIME.property][*property],
            value: value.clone(),
            graphs: graphs.len(),
            results: by_graph.iter().map(|verdicts| result(verdicts, &graphs)).collect(),
        })
        .collect()
}

fn properties(verdict: &Verdict) -> Vec<Key> {
    let mut keys = Vec::new();
    if let Some(output) = verdict.outputs.first() {
        keys.push((0, 0, output.dtype.to_string()));
    }
    let elements = verdict.outputs.iter().map(|output| output.shape.iter().map(|&size| size as f64).product::<f64>());
    if let Some(largest) = elements.reduce(f64::max) {
        let position = SIZE.position(largest);
        keys.push((1, position, SIZE.names[position].to_owned()));
    }
    if let Some(timing) = verdict.scored_timing() {
        let position = TIME.position(timing.base.median_ns);
        keys.push((2, position, TIME.names[position].to_owned()));
    }
    keys
}

fn result(verdicts: &BTreeMap<&GraphId, &Verdict>, graphs: &[&GraphId]) -> FamilyResult {
    let found: Vec<&Verdict> = graphs.iter().filter_map(|graph| verdicts.get(*graph).copied()).collect();
    // Times of wrong results say nothing about speed.
    let correct: Vec<&Verdict> = found.iter().copied().filter(|verdict| verdict.status == Status::Correct).collect();
    let logs: Vec<f64> = correct
        .iter()
        .filter_map(|verdict| verdict.scored_timing())
        .map(|timing| timing.speedup.ratio.ln())
        .filter(|log| log.is_finite())
        .collect();
    let speedup = (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp());
    FamilyResult { speedup, correct: correct.len(), graphs: found.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_the_range_above_it() {
        assert_eq!([9_999.0, 1e4, 999_999.0, 1e6].map(|size| SIZE.position(size)), [0, 1, 1, 2]);
    }
}
