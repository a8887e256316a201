//! Results by family of graphs: field of use, operation, what limits eager mode, element type, size and time.

use std::collections::BTreeMap;

use passnet_record::{GraphId, Verdict};
use passnet_score::{GraphOutcome, Outcomes, PartScore, geometric_mean};

use crate::{traits::GraphTraits, view::RunView};

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
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FamilyResult {
    /// Geometric mean speed-up over correct, timed graphs; `None` if there are none.
    pub(crate) speedup: Option<f64>,
    pub(crate) correct: usize,
    /// Graphs of the family that the run has a verdict on.
    pub(crate) graphs: usize,
    /// Sound score of these graphs.
    pub(crate) part: PartScore,
}

/// Values of one property: bounds below which each name but the last applies.
struct Scale {
    bounds: [f64; 2],
    names: [&'static str; 3],
}

const PROPERTIES: [&str; 6] = ["Domain", "Operation", "Eager mode is", "Element type", "Largest output", "Eager time"];
const SIZE: Scale =
    Scale { bounds: [1e4, 1e6], names: ["under 10,000 elements", "10,000 to a million", "a million or more"] };
const TIME: Scale = Scale { bounds: [2e4, 2e5], names: ["under 20 µs", "20 to 200 µs", "200 µs or more"] };
const LIMITS: [&str; 3] = ["launch-bound", "memory-bound", "compute-bound"];
/// Time of eager mode for each computation, in nanoseconds, below which launches dominate: a few times the time in which PyTorch starts
/// one computation.
const LAUNCH_NS: LaunchTime = LaunchTime { cpu: 10e3, accelerator: 25e3 };

struct LaunchTime {
    cpu: f64,
    accelerator: f64,
}

impl Scale {
    /// Returns the position of a number's range.
    fn position(&self, number: f64) -> usize {
        self.bounds.iter().filter(|&&bound| number >= bound).count()
    }
}

/// Property, place among its values, value: the order in which families are shown.
type FamilyKey = (usize, usize, String);

/// Groups the graphs of runs over one suite. Properties come from any run that has outputs and times of a graph, and from the graph
/// itself where `traits` has it.
pub(crate) fn families(runs: &[&RunView], traits: Option<&BTreeMap<GraphId, GraphTraits>>) -> Vec<Family> {
    let mut keys: BTreeMap<&GraphId, Vec<FamilyKey>> = BTreeMap::new();
    for (run, verdict) in runs.iter().flat_map(|run| run.verdicts.iter().map(move |verdict| (run, verdict))) {
        let known = keys.entry(&verdict.id).or_default();
        let is_cpu = run.header.settings.device.is_cpu();
        for key in properties(verdict, traits.and_then(|traits| traits.get(&verdict.id)), is_cpu) {
            // Times differ from run to run; the first run decides.
            if !known.iter().any(|(property, ..)| *property == key.0) {
                known.push(key);
            }
        }
    }
    let mut groups: BTreeMap<&FamilyKey, Vec<&GraphId>> = BTreeMap::new();
    for (graph, keys) in &keys {
        for key in keys {
            groups.entry(key).or_default().push(graph);
        }
    }
    let measured: Vec<MeasuredRun> = runs.iter().map(|run| MeasuredRun::of(run)).collect();
    groups
        .into_iter()
        .map(|((property, _, value), graphs)| Family {
            property: PROPERTIES[*property],
            value: value.clone(),
            graphs: graphs.len(),
            results: measured.iter().map(|run| run.result(&graphs)).collect(),
        })
        .collect()
}

fn properties(verdict: &Verdict, traits: Option<&GraphTraits>, is_cpu: bool) -> Vec<FamilyKey> {
    let mut keys = Vec::new();
    let timing = verdict.scored_timing();
    if let Some(traits) = traits {
        if !traits.domain.is_empty() {
            keys.push((0, 0, traits.domain.clone()));
        }
        keys.push((1, traits.operation as usize, traits.operation.name().to_owned()));
        if let Some(timing) = timing {
            let limit = limit(traits, timing.base.median_ns, is_cpu);
            keys.push((2, limit, LIMITS[limit].to_owned()));
        }
    }
    if let Some(output) = verdict.outputs.first() {
        keys.push((3, 0, output.dtype.to_string()));
    }
    let elements = verdict.outputs.iter().map(|output| output.shape.iter().map(|&size| size as f64).product::<f64>());
    let mut ranged = |property: usize, scale: &Scale, number: f64| {
        let position = scale.position(number);
        keys.push((property, position, scale.names[position].to_owned()));
    };
    if let Some(largest) = elements.reduce(f64::max) {
        ranged(4, &SIZE, largest);
    }
    if let Some(timing) = timing {
        ranged(5, &TIME, timing.base.median_ns);
    }
    keys
}

/// Returns the index in [`LIMITS`] of what limits the speed of eager mode. Time alone does not tell arithmetic from memory, so
/// graphs with attention, a convolution or a product of matrices count as limited by arithmetic.
fn limit(traits: &GraphTraits, eager_ns: f64, is_cpu: bool) -> usize {
    let launch = if is_cpu { LAUNCH_NS.cpu } else { LAUNCH_NS.accelerator };
    match eager_ns / (traits.launches as f64) < launch {
        true => 0,
        false => 1 + usize::from(traits.operation.is_arithmetic()),
    }
}

/// The outcomes that the scores of a run are computed from, by graph.
struct MeasuredRun {
    outcomes: BTreeMap<GraphId, GraphOutcome>,
    error_base: f64,
}

impl MeasuredRun {
    fn of(run: &RunView) -> Self {
        let outcomes = Outcomes::from_verdicts(&run.verdicts, run.header.settings.correct_at);
        Self {
            outcomes: outcomes.graphs.into_iter().map(|graph| (graph.id.clone(), graph)).collect(),
            error_base: run.score.settings.es.error_base,
        }
    }

    fn result(&self, graphs: &[&GraphId]) -> FamilyResult {
        let found: Vec<&GraphOutcome> = graphs.iter().filter_map(|graph| self.outcomes.get(*graph)).collect();
        // Times of wrong results do not count as speed. Unstable times do, as in the means of tasks and of the run.
        let correct: Vec<&GraphOutcome> = found.iter().copied().filter(|graph| graph.failure.is_none()).collect();
        let ratios = || correct.iter().filter_map(|graph| graph.eager).map(|eager| eager.ratio);
        let speedup = ratios().next().map(|_| geometric_mean(ratios()));
        let part = PartScore::of(found.iter().copied(), self.error_base);
        FamilyResult { speedup, correct: correct.len(), graphs: found.len(), part }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traits::OperationKind;

    #[test]
    fn a_bound_belongs_to_the_range_above_it() {
        assert_eq!([9_999.0, 1e4, 999_999.0, 1e6].map(|size| SIZE.position(size)), [0, 1, 1, 2]);
    }

    #[test]
    fn eager_mode_is_limited_by_launches_memory_or_arithmetic() {
        let traits = |operation, launches| GraphTraits { domain: String::new(), operation, launches };
        let cases = [
            (traits(OperationKind::Elementwise, 4), 40e3, false, "launch-bound"),
            (traits(OperationKind::Elementwise, 1), 40e3, false, "memory-bound"),
            (traits(OperationKind::Elementwise, 4), 40e3, true, "memory-bound"),
            (traits(OperationKind::Product, 1), 40e3, false, "compute-bound"),
            (traits(OperationKind::Product, 4), 40e3, false, "launch-bound"),
        ];
        for (traits, eager_ns, is_cpu, expected) in cases {
            assert_eq!(LIMITS[limit(&traits, eager_ns, is_cpu)], expected, "{traits:?}");
        }
    }
}
