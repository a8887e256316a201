//! Score and reward of an evaluation. The score selects the best passes; the reward is for training.
//!
//! `docs/reference/trajectories.md` defines the reward. A policy cannot game it: the reward is 0 if a graph is wrong or if there are no
//! passes, and a speed-up counts only up to the lower end of its confidence interval.

use passnet_record::{Status, agent::Reward};
use passnet_score::{GraphOutcome, Speedup, sound_credit};

/// Credit of a graph on which the passes are wrong, as in the sound score.
const ERROR_BASE: f64 = 0.1;
/// Smallest speed-up that counts. Smaller ones can be noise of a busy machine.
const LEAST_SPEEDUP: f64 = 1.02;
/// Speed-up that earns the full reward of 1.
const FULL_SPEEDUP: f64 = 8.0;

/// Returns the geometric mean of the credits; 1, the score of doing nothing, if no graph counts.
pub(crate) fn score(graphs: &[GraphOutcome]) -> f64 {
    let logs: f64 = graphs.iter().map(|graph| sound_credit(graph, ERROR_BASE).ln()).sum();
    (logs / graphs.len().max(1) as f64).exp()
}

/// Returns the mean over graphs of `ln(speed-up) / ln 8`, at most 1 each. A graph counts 0 if no pass matches or if its
/// speed-up is not certainly above 1.02; the whole reward is 0 if any graph is wrong, or if there is none.
pub fn reward_of(graphs: &[GraphOutcome]) -> Reward {
    let wrong = |graph: &GraphOutcome| graph.failure.is_some_and(|failure| failure != Status::NoMatch);
    if graphs.is_empty() || graphs.iter().any(wrong) {
        return Reward::default();
    }
    let mean =
        |pick: fn(&Speedup) -> f64| graphs.iter().map(|graph| gain(graph, pick)).sum::<f64>() / graphs.len() as f64;
    Reward {
        value: mean(|speedup| speedup.interval.map_or(1.0, |interval| interval.low)),
        point: mean(|speedup| speedup.ratio),
        high: mean(|speedup| speedup.interval.map_or(1.0, |interval| interval.high)),
    }
}
fn gain(graph: &GraphOutcome, pick: fn(&Speedup) -> f64) -> f64 {
    if graph.failure.is_some() || graph.unstable || graph.eager.is_none() {
        return 0.0;
    }
    // The hardware does not allow more than the bound. A higher ratio is a measurement error.
    let capped = |speedup: Speedup| pick(&speedup).min(speedup.bound.map_or(f64::INFINITY, |bound| bound.max(1.0)));
    // Both comparisons have to show the gain: against the control alone, the cost of the path would be a gain
    // of the pass.
    let least = [graph.eager, graph.control].into_iter().flatten().map(capped).fold(f64::INFINITY, f64::min);
    if least < LEAST_SPEEDUP { 0.0 } else { (least.ln() / FULL_SPEEDUP.ln()).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use passnet_record::GraphId;
    use passnet_score::Interval;

    use super::*;

    fn graph(failure: Option<Status>, low: f64) -> GraphOutcome {
        let speedup = Speedup { ratio: low * 1.1, interval: Some(Interval { low, high: low * 1.2 }), bound: None };
        GraphOutcome {
            id: GraphId { task: "t".to_owned(), graph: "g".to_owned() },
            failure,
            tolerance: Some(-5),
            eager: failure.is_none().then_some(speedup),
            control: None,
            unstable: false,
        }
    }

    #[test]
    fn doing_nothing_or_being_wrong_earns_nothing() {
        let value = |graphs: &[GraphOutcome]| reward_of(graphs).value;
        assert_eq!(value(&[]), 0.0);
        assert_eq!(value(&[graph(Some(Status::NoMatch), 1.0)]), 0.0);
        assert_eq!(value(&[graph(None, 1.0)]), 0.0);
        assert_eq!(value(&[graph(None, 4.0), graph(Some(Status::Accuracy), 1.0)]), 0.0);
        assert_eq!(value(&[graph(None, 0.5)]), 0.0);
        let mut unstable = graph(None, 4.0);
        unstable.unstable = true;
        assert_eq!(value(&[unstable]), 0.0);
    }

    #[test]
    fn speed_is_worth_its_logarithm() {
        let at = |low: f64| reward_of(&[graph(None, low)]);
        assert!((at(8.0).value - 1.0).abs() < 1e-12 && (at(64.0).value - 1.0).abs() < 1e-12);
        assert!((at(2.0).value - 1.0 / 3.0).abs() < 1e-12);
        assert!(at(2.0).value < at(2.0).point && at(2.0).point < at(2.0).high);
        let half = reward_of(&[graph(None, 8.0), graph(Some(Status::NoMatch), 1.0)]);
        assert!((half.value - 0.5).abs() < 1e-12);
        assert!(score(&[graph(None, 4.0)]) > 1.0 && score(&[]) == 1.0);
        assert!(score(&[graph(Some(Status::Accuracy), 1.0)]) < 1.0);
    }
}
