//! What evaluations of all graphs of a task amount to: a score to choose by, a reward to train by.
//!
//! The reward is defined in `docs/trajectories.md`. It cannot be farmed: anything wrong on any graph makes it 0, doing
//! nothing makes it 0, and a speed-up counts only as far as the lower end of its confidence interval.

use passnet_python::lint::Finding;
use passnet_record::{ContentId, RatioInterval, Status, Verdict};
use passnet_score::{GraphOutcome, Outcomes, sound_credit};
use serde::{Deserialize, Serialize};

/// Credit of a graph on which the passes are wrong, as in the sound score.
const ERROR_BASE: f64 = 0.1;
/// A speed-up below this is nothing: what the noise of a loaded machine can fake.
const LEAST_SPEEDUP: f64 = 1.02;
/// The speed-up that is worth 1.
const FULL_SPEEDUP: f64 = 8.0;

/// A number with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reward {
    /// What a trainer uses; from the lower ends of the intervals of speed-ups.
    pub value: f64,
    /// From the measured ratios.
    pub point: f64,
    /// From the upper ends.
    pub high: f64,
}

/// The parts of an evaluation, each dearer than the one before. The first that fails gives the verdict and ends it, but for
/// results that are close at some tolerance: those are timed nevertheless, since AS counts them there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The rules, on the text of the files; nothing runs.
    Lint,
    /// Importing the passes and matching them; kernels are built here.
    Match,
    /// What the passes mean, on a processor, where they are for another device.
    Cpu,
    /// Results on several inputs, by the device that is measured.
    Check,
    /// Timing in turns with eager.
    Timing,
}

impl Tier {
    /// The tier that gave a verdict: lint where it is one of its findings; what ran into a limit or died was being timed if the
    /// results had been compared by then.
    fn of(verdict: &Verdict, findings: &[Finding]) -> Self {
        let code = verdict.reason.as_ref().map(|reason| reason.code.as_str());
        match verdict.status {
            _ if findings.iter().any(|finding| Some(finding.rule) == code) => Self::Lint,
            Status::Correct if verdict.timings.is_empty() => Self::Check,
            Status::Correct | Status::Unstable => Self::Timing,
            Status::NoMatch | Status::CompileError => Self::Match,
            Status::Timeout | Status::OutOfMemory | Status::RuntimeError if verdict.tolerance.is_some() => Self::Timing,
            _ => Self::Check,
        }
    }

    /// The name used in records, e.g. `match`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lint => "lint",
            Self::Match => "match",
            Self::Cpu => "cpu",
            Self::Check => "check",
            Self::Timing => "timing",
        }
    }
}

/// What was found on one graph, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphResult {
    /// Name of the graph.
    pub graph: String,
    /// The model was not shown it.
    #[serde(default)]
    pub held_out: bool,
    /// Outcome.
    pub status: Status,
    /// The tier that gave it; absent in records of before there were tiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// Code of the reason, empty for a plain `correct`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Smallest tolerance at which everything was close.
    pub tolerance: Option<i32>,
    /// Against eager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<RatioInterval>,
    /// Median time of eager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eager_ns: Option<f64>,
    /// Median time of the passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes_ns: Option<f64>,
    /// Known before, not evaluated anew.
    #[serde(default)]
    pub cached: bool,
    /// Content key of the verdict.
    pub key: ContentId,
}

/// Checks of a pass directory on graphs of a task, without timing: whether the results are right, no more. There is nothing in
/// it that could count as a score or a reward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Identity of the pass directory.
    pub passes: ContentId,
    /// One per graph; `correct` says that the results are right.
    pub graphs: Vec<GraphResult>,
    /// From the question to the answer.
    pub wall_ns: u64,
}

impl Check {
    /// What verdicts without timings amount to.
    pub(crate) fn of(passes: ContentId, judged: &[Judged], wall_ns: u64) -> Self {
        Self { passes, graphs: judged.iter().map(in_short).collect(), wall_ns }
    }

    /// Graphs on which the results are right.
    pub fn correct(&self) -> usize {
        self.graphs.iter().filter(|graph| graph.status == Status::Correct).count()
    }
}

/// An evaluation of a pass directory on graphs of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Identity of the pass directory.
    pub passes: ContentId,
    /// Geometric mean of the sound credits: 1 is doing nothing, 0.1 is wrong everywhere.
    pub score: f64,
    /// For training.
    pub reward: Reward,
    /// One per graph.
    pub graphs: Vec<GraphResult>,
    /// From the question to the answer.
    pub wall_ns: u64,
}

impl Judgement {
    /// Graphs on which the results are right, whether or not their timing settled.
    pub fn correct(&self) -> usize {
        self.graphs.iter().filter(|graph| matches!(graph.status, Status::Correct | Status::Unstable)).count()
    }

    /// Whether a rule of integrity was broken.
    pub fn is_cheating(&self) -> bool {
        self.graphs.iter().any(|graph| graph.status == Status::Integrity)
    }
}

/// One verdict and how it was had.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) held_out: bool,
    pub(crate) cached: bool,
    pub(crate) tier: Tier,
}

impl Judged {
    /// A verdict on passes of which the rules say `findings`.
    pub(crate) fn new(verdict: Verdict, held_out: bool, cached: bool, findings: &[Finding]) -> Self {
        Self { tier: Tier::of(&verdict, findings), verdict, held_out, cached }
    }

    /// What the processor has against passes for another device; that one was not asked.
    pub(crate) fn on_cpu(verdict: Verdict) -> Self {
        // Matching is the same everywhere.
        let tier = if verdict.status == Status::NoMatch { Tier::Match } else { Tier::Cpu };
        Self { tier, verdict, held_out: false, cached: false }
    }
}

/// Sums up.
pub(crate) fn sum_up(passes: ContentId, judged: &[Judged], correct_at: i32, wall_ns: u64) -> Judgement {
    let outcomes = Outcomes::from_verdicts(judged.iter().map(|judged| &judged.verdict), correct_at).graphs;
    Judgement {
        passes,
        score: score(&outcomes),
        reward: reward(&outcomes),
        graphs: judged.iter().map(in_short).collect(),
        wall_ns,
    }
}

fn in_short(judged: &Judged) -> GraphResult {
    let verdict = &judged.verdict;
    let timing = verdict.scored_timing();
    GraphResult {
        graph: verdict.id.graph.clone(),
        held_out: judged.held_out,
        status: verdict.status,
        tier: Some(judged.tier),
        code: verdict.reason.as_ref().map(|reason| reason.code.clone()).unwrap_or_default(),
        tolerance: verdict.tolerance,
        speedup: timing.map(|timing| timing.speedup),
        eager_ns: timing.map(|timing| timing.base.median_ns),
        passes_ns: timing.map(|timing| timing.candidate.median_ns),
        cached: judged.cached,
        key: verdict.key.clone(),
    }
}

/// Geometric mean of the credits; that of doing nothing where no graph counts.
fn score(graphs: &[GraphOutcome]) -> f64 {
    let logs: f64 = graphs.iter().map(|graph| sound_credit(graph, ERROR_BASE).ln()).sum();
    (logs / graphs.len().max(1) as f64).exp()
}

/// The mean over graphs of `ln(speed-up) / ln 8`, at most 1 each; 0 for a graph that no pass matches or whose speed-up is
/// not surely above 1.02; 0 altogether if any graph is wrong.
fn reward(graphs: &[GraphOutcome]) -> Reward {
    let wrong = |graph: &GraphOutcome| graph.failure.is_some_and(|failure| failure != passnet_score::Failure::NoMatch);
    if graphs.is_empty() || graphs.iter().any(wrong) {
        return Reward::default();
    }
    let mean = |pick: fn(&passnet_score::Speedup) -> f64| {
        graphs.iter().map(|graph| gain(graph, pick)).sum::<f64>() / graphs.len() as f64
    };
    Reward {
        value: mean(|speedup| speedup.interval.map_or(1.0, |interval| interval.low)),
        point: mean(|speedup| speedup.ratio),
        high: mean(|speedup| speedup.interval.map_or(1.0, |interval| interval.high)),
    }
}

fn gain(graph: &GraphOutcome, pick: fn(&passnet_score::Speedup) -> f64) -> f64 {
    if graph.failure.is_some() || graph.unstable || graph.eager.is_none() {
        return 0.0;
    }
    let capped = |speedup: passnet_score::Speedup| {
        pick(&speedup).min(speedup.bound.map_or(f64::INFINITY, |bound| bound.max(1.0)))
    };
    let least = [graph.eager, graph.control].into_iter().flatten().map(capped).fold(f64::INFINITY, f64::min);
    if least < LEAST_SPEEDUP { 0.0 } else { (least.ln() / FULL_SPEEDUP.ln()).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use passnet_record::GraphId;
    use passnet_score::{Failure, Interval, Speedup};

    use super::*;

    fn graph(failure: Option<Failure>, low: f64) -> GraphOutcome {
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
    fn nothing_is_had_for_nothing_or_for_being_wrong() {
        let value = |graphs: &[GraphOutcome]| reward(graphs).value;
        assert_eq!(value(&[]), 0.0);
        assert_eq!(value(&[graph(Some(Failure::NoMatch), 1.0)]), 0.0);
        assert_eq!(value(&[graph(None, 1.0)]), 0.0);
        assert_eq!(value(&[graph(None, 4.0), graph(Some(Failure::Accuracy), 1.0)]), 0.0);
        assert_eq!(value(&[graph(None, 0.5)]), 0.0);
        let mut unstable = graph(None, 4.0);
        unstable.unstable = true;
        assert_eq!(value(&[unstable]), 0.0);
    }

    #[test]
    fn speed_is_worth_its_logarithm() {
        let at = |low: f64| reward(&[graph(None, low)]);
        assert!((at(8.0).value - 1.0).abs() < 1e-12 && (at(64.0).value - 1.0).abs() < 1e-12);
        assert!((at(2.0).value - 1.0 / 3.0).abs() < 1e-12);
        assert!(at(2.0).value < at(2.0).point && at(2.0).point < at(2.0).high);
        let half = reward(&[graph(None, 8.0), graph(Some(Failure::NoMatch), 1.0)]);
        assert!((half.value - 0.5).abs() < 1e-12);
        assert!(score(&[graph(None, 4.0)]) > 1.0 && score(&[]) == 1.0);
        assert!(score(&[graph(Some(Failure::Accuracy), 1.0)]) < 1.0);
    }
}
