//! Comparison of two runs over the same graphs: improvements and regressions, and which of them exceed the noise.

use std::collections::BTreeMap;

use passnet_record::{GraphId, Status};
use serde::Serialize;

use crate::{GraphOutcome, Interval, Outcomes, ScoreReport, Speedup, TaskScore, random::SplitMix64};

/// Accepted rate of false discoveries among the graphs that are reported as faster or slower, from 0 to 1.
pub const FALSE_DISCOVERIES: f64 = 0.05;
/// Resamples of the tasks for the intervals of score changes: 50 of the 2000 lie beyond each bound of a 95 % interval, which is enough
/// that the bounds hardly depend on the seed.
const RESAMPLES: usize = 2000;
/// Two-sided 95 % quantile of the normal distribution.
const Z95: f64 = 1.959_963_985;

/// Change of a graph from the first run to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Correct or not handed in before, wrong now.
    NewlyWrong,
    /// Correct in both, and slower beyond noise.
    Slower,
    /// Wrong or not handed in before, correct now.
    NewlyRight,
    /// Correct in both, and faster beyond noise.
    Faster,
    /// Correct in both with speeds that noise can explain, or not comparable in speed.
    Same,
    /// Wrong in both.
    StillWrong,
    /// No pass matches the graph in the second run, so nothing was handed in for it.
    NotHandedIn,
}

/// One graph in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GraphChange {
    pub id: GraphId,
    /// Change of the graph.
    pub change: Change,
    /// Speed-up against eager in the second run divided by the speed-up in the first, with the 95 % interval of this ratio. `None` where
    /// one of the runs has no settled measurement.
    pub ratio: Option<(f64, Interval)>,
    /// Two-sided p-value of the hypothesis "no change of speed", before the correction for many graphs.
    pub p_value: Option<f64>,
}

/// One score in both runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScoreChange {
    /// Score in the first run.
    pub before: f64,
    /// Score in the second run.
    pub after: f64,
    /// `after / before`.
    pub ratio: f64,
    /// 95 % interval of the ratio, by resampling the tasks that both runs have. `None` for fewer than two tasks.
    pub interval: Option<Interval>,
}

/// Two runs compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    /// Graphs that both runs have a verdict for, in the order of the first.
    pub graphs: Vec<GraphChange>,
    /// Graphs of the first run alone.
    pub only_before: usize,
    /// Graphs of the second run alone.
    pub only_after: usize,
    /// AS over the tasks of each run.
    pub aggregated: ScoreChange,
    /// The sound score; `None` where one of the runs has no sound score.
    pub sound: Option<ScoreChange>,
}

impl RunComparison {
    /// Compares the outcomes of two runs and the reports that were computed from them.
    pub fn new(before: (&Outcomes, &ScoreReport), after: (&Outcomes, &ScoreReport)) -> Self {
        let later: BTreeMap<&GraphId, &GraphOutcome> = after.0.graphs.iter().map(|graph| (&graph.id, graph)).collect();
        let mut graphs: Vec<GraphChange> =
            before.0.graphs.iter().filter_map(|graph| Some(change(graph, later.get(&graph.id)?))).collect();
        call_significant(&mut graphs);
        let weight = |task: &TaskScore| task.tally.graphs as f64;
        let sound = before.1.sound.as_ref().zip(after.1.sound.as_ref()).map(|(first, second)| {
            let pairs = common(before.1, after.1, |task| task.sound.map(|score| (1.0, score)));
            score_change(first.score, second.score, &pairs)
        });
        let pairs = common(before.1, after.1, |task| Some((weight(task), task.aggregated)));
        Self {
            // `graphs` holds only pairs. The rest of each run are the graphs that the other run lacks.
            only_before: before.0.graphs.len() - graphs.len(),
            only_after: after.0.graphs.len() - graphs.len(),
            graphs,
            aggregated: score_change(before.1.aggregated, after.1.aggregated, &pairs),
            sound,
        }
    }

    /// Returns the number of graphs with the given change.
    pub fn count(&self, change: Change) -> usize {
        self.graphs.iter().filter(|graph| graph.change == change).count()
    }
}

fn change(before: &GraphOutcome, after: &GraphOutcome) -> GraphChange {
    let change = match (before.failure, after.failure) {
        // First, because a pass that no longer matches is neither a regression in correctness nor a repair.
        (_, Some(Status::NoMatch)) => Change::NotHandedIn,
        (None, None) => Change::Same,
        (None | Some(Status::NoMatch), Some(_)) => Change::NewlyWrong,
        (Some(_), None) => Change::NewlyRight,
        (Some(_), Some(_)) => Change::StillWrong,
    };
    // A speed-up that did not settle earns no credit above 1, so it does not show a change either.
    let measured = |graph: &GraphOutcome| graph.eager.filter(|_| change == Change::Same && !graph.unstable);
    let compared = measured(before).zip(measured(after)).and_then(|(first, second)| speed_change(first, second));
    GraphChange {
        id: before.id.clone(),
        change,
        ratio: compared.map(|(ratio, interval, _)| (ratio, interval)),
        p_value: compared.map(|(.., p)| p),
    }
}

/// Returns the ratio of two speed-ups, its 95 % interval and its p-value. The logarithm of a ratio of medians is treated as normally
/// distributed, with the standard error that its 95 % interval implies.
fn speed_change(before: Speedup, after: Speedup) -> Option<(f64, Interval, f64)> {
    // A 95 % interval spans 2 x 1.96 standard errors; the division yields one standard error.
    let error = |speedup: Speedup| {
        let Interval { low, high } = speedup.interval?;
        (low > 0.0 && high >= low).then(|| (high / low).ln() / (2.0 * Z95))
    };
    // The runs are independent, so their variances add.
    let error = error(before)?.hypot(error(after)?);
    let log = (after.ratio / before.ratio).ln();
    // Intervals without width have no uncertainty: any difference is certain, and equal values show no change.
    let p = if error > 0.0 { two_sided(log / error) } else { f64::from(log == 0.0) };
    let at = |z: f64| (log + z * error).exp();
    Some((log.exp(), Interval { low: at(-Z95), high: at(Z95) }, p))
}

/// Marks significant changes by the procedure of Benjamini and Hochberg (1995): finds the largest rank k with p_(k) <= k/m q. The graphs
/// up to this rank are called faster or slower.
fn call_significant(graphs: &mut [GraphChange]) {
    let mut ranked: Vec<f64> = graphs.iter().filter_map(|graph| graph.p_value).collect();
    ranked.sort_by(f64::total_cmp);
    let tests = ranked.len() as f64;
    // Ranks start at 0 here and at 1 in the paper.
    let called = |(rank, p): &(usize, &f64)| **p <= (rank + 1) as f64 / tests * FALSE_DISCOVERIES;
    let Some(limit) = ranked.iter().enumerate().filter(called).map(|(_, &p)| p).next_back() else { return };
    for graph in graphs {
        if let (Some((ratio, _)), Some(p)) = (graph.ratio, graph.p_value)
            && p <= limit
            // A ratio of exactly 1 has no direction, so the graph is neither faster nor slower, even if p is small.
            && ratio != 1.0
        {
            graph.change = if ratio > 1.0 { Change::Faster } else { Change::Slower };
        }
    }
}

/// Returns the weight, the logarithm before and the logarithm after of each task that both reports have.
fn common(
    before: &ScoreReport,
    after: &ScoreReport,
    value: impl Fn(&TaskScore) -> Option<(f64, f64)>,
) -> Vec<(f64, f64, f64)> {
    let later: BTreeMap<&str, &TaskScore> = after.tasks.iter().map(|task| (task.task.as_str(), task)).collect();
    let pair = |task: &TaskScore| {
        let ((weight, first), (_, second)) = (value(task)?, value(later.get(task.task.as_str())?)?);
        Some((weight, first.ln(), second.ln()))
    };
    before.tasks.iter().filter_map(pair).collect()
}

fn score_change(before: f64, after: f64, tasks: &[(f64, f64, f64)]) -> ScoreChange {
    ScoreChange { before, after, ratio: after / before, interval: resample(tasks) }
}

/// Returns the interval of the ratio: a percentile bootstrap over tasks of the weighted mean difference of logarithms.
fn resample(tasks: &[(f64, f64, f64)]) -> Option<Interval> {
    if tasks.len() < 2 {
        return None;
    }
    // A fixed seed: the same two runs always give the same interval.
    let mut random = SplitMix64::new(0);
    let mut ratios: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            // Whole tasks are drawn, since graphs of a task resemble one another and are not independent.
            let drawn = (0..tasks.len()).map(|_| tasks[random.below(tasks.len())]);
            let (weight, sum) = drawn.fold((0.0, 0.0), |(total, sum), (weight, first, second)| {
                (total + weight, sum + weight * (second - first))
            });
            (sum / weight).exp()
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let at = |quantile: f64| ratios[(quantile * (RESAMPLES - 1) as f64).round() as usize];
    Some(Interval { low: at(0.025), high: at(0.975) })
}

/// P(|Z| >= |z|) of a standard normal Z, to 1.5e-7 (Abramowitz and Stegun 7.1.26).
fn two_sided(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let polynomial = series.iter().fold(0.0, |sum, coefficient| sum * t + coefficient) * t;
    (polynomial * (-x * x).exp()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScoreSettings;

    fn outcomes(ratios: &[Option<f64>]) -> Outcomes {
        let graph = |(index, ratio): (usize, &Option<f64>)| GraphOutcome {
            id: GraphId { task: format!("t{}", index / 2), graph: index.to_string() },
            failure: ratio.is_none().then_some(Status::RuntimeError),
            tolerance: ratio.map(|_| -10),
            eager: ratio.map(|ratio| Speedup {
                ratio,
                interval: Some(Interval { low: 0.97 * ratio, high: 1.03 * ratio }),
                bound: None,
            }),
            control: None,
            unstable: false,
        };
        Outcomes { graphs: ratios.iter().enumerate().map(graph).collect(), reference_errors: Vec::new() }
    }

    fn compare(before: &[Option<f64>], after: &[Option<f64>]) -> RunComparison {
        let (before, after) = (outcomes(before), outcomes(after));
        let report = |outcomes: &Outcomes| ScoreReport::new(outcomes, &ScoreSettings::default()).unwrap();
        RunComparison::new((&before, &report(&before)), (&after, &report(&after)))
    }

    #[test]
    fn every_kind_of_change_is_reported() {
        let before = [Some(1.0), Some(1.0), Some(1.0), Some(1.0), None, None];
        let after = [Some(1.02), Some(1.3), Some(0.7), None, Some(1.0), None];
        let comparison = compare(&before, &after);
        let changes: Vec<Change> = comparison.graphs.iter().map(|graph| graph.change).collect();
        use Change::{Faster, NewlyRight, NewlyWrong, Same, Slower, StillWrong};
        assert_eq!(changes, [Same, Faster, Slower, NewlyWrong, NewlyRight, StillWrong]);
        assert_eq!(comparison.count(Faster), 1);
    }

    #[test]
    fn a_graph_without_a_match_is_not_handed_in_and_never_newly_wrong() {
        let of = |failures: &[Option<Status>]| {
            let mut outcomes = outcomes(&vec![Some(1.0); failures.len()]);
            for (graph, failure) in outcomes.graphs.iter_mut().zip(failures) {
                graph.failure = *failure;
            }
            outcomes
        };
        let (unmatched, wrong) = (Some(Status::NoMatch), Some(Status::Accuracy));
        let before = of(&[None, wrong, unmatched, unmatched, unmatched]);
        let after = of(&[unmatched, unmatched, unmatched, wrong, None]);
        let report = |outcomes: &Outcomes| ScoreReport::new(outcomes, &ScoreSettings::default()).unwrap();
        let comparison = RunComparison::new((&before, &report(&before)), (&after, &report(&after)));
        let changes: Vec<Change> = comparison.graphs.iter().map(|graph| graph.change).collect();
        use Change::{NewlyRight, NewlyWrong, NotHandedIn};
        assert_eq!(changes, [NotHandedIn, NotHandedIn, NotHandedIn, NewlyWrong, NewlyRight]);
    }

    #[test]
    fn a_run_does_not_differ_from_itself() {
        let run = [Some(1.2), Some(0.9), None, Some(2.0)];
        let comparison = compare(&run, &run);
        assert_eq!(comparison.aggregated.ratio, 1.0);
        assert_eq!(comparison.aggregated.interval, Some(Interval { low: 1.0, high: 1.0 }));
        assert_eq!(comparison.count(Change::Faster) + comparison.count(Change::Slower), 0);
    }

    #[test]
    fn many_graphs_need_stronger_evidence() {
        // z of about 2.1: significant in a single test, but not as one of a hundred tests.
        let (mut before, mut after) = (vec![Some(1.0); 100], vec![Some(1.0); 100]);
        (before[0], after[0]) = (Some(1.0), Some(1.047));
        assert_eq!(compare(&before, &after).count(Change::Faster), 0);
        assert_eq!(compare(&before[..1], &after[..1]).count(Change::Faster), 1);
    }

    #[test]
    fn the_interval_of_as_holds_its_ratio() {
        let before: Vec<_> = (0..40).map(|index| Some(1.0 + 0.01 * f64::from(index))).collect();
        let after: Vec<_> = (0..40).map(|index| Some(0.9 + 0.011 * f64::from(index))).collect();
        let ScoreChange { ratio, interval, .. } = compare(&before, &after).aggregated;
        let Interval { low, high } = interval.unwrap();
        assert!(low < ratio && ratio < high && high < 1.0, "{low} {ratio} {high}");
    }

    #[test]
    fn normal_tails_are_as_tabulated() {
        for (z, p) in [(0.0, 1.0), (1.0, 0.317_31), (1.96, 0.05), (-3.0, 0.0027)] {
            assert!((two_sided(z) - p).abs() < 1e-4, "{z}");
        }
    }
}
