//! Counts and curves over trajectories.

use std::collections::{BTreeMap, BTreeSet};

use passnet_record::{
    Status,
    agent::{AttemptExit, Style, TRAJECTORY_VERSION, TaskEvaluation, TokenUsage, Trajectory},
};
use serde::Serialize;

use crate::{style::style_of, trajectory::best_so_far};

/// Distribution over attempts of the best score up to a step. An ended attempt counts with its last value.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BestSoFar {
    /// Step, from 1.
    pub step: usize,
    /// First quartile.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub high: f64,
    /// Number of attempts that had not ended.
    pub running: usize,
}

/// Attempts grouped by the outcomes of their first and final evaluation: `none` (no evaluation), `integrity`, `wrong`,
/// `no_match`, `partly` (some graphs correct), `correct` (all correct), `faster` (all correct, score above 1).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OutcomeFlow {
    /// Outcome of the first evaluation.
    pub first: &'static str,
    /// Outcome of the final evaluation.
    pub last: &'static str,
    /// Number of attempts.
    pub attempts: usize,
}

/// Statistics of trajectories.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TrajectoryStats {
    /// Version of the schema.
    pub schema_version: u32,
    /// Attempts.
    pub attempts: usize,
    /// Tasks.
    pub tasks: usize,
    /// Attempts by model.
    pub models: BTreeMap<String, usize>,
    /// Attempts by the reason of their end.
    pub exits: BTreeMap<AttemptExit, usize>,
    /// Attempts with every graph correct at the end.
    pub all_correct: usize,
    /// Attempts with a reward above 0.
    pub rewarded: usize,
    /// Attempts that broke an integrity rule at any step.
    pub cheated: usize,
    /// Attempts with right passes in the end, by style.
    pub styles: BTreeMap<Style, usize>,
    /// Attempts by broken rule.
    pub findings: BTreeMap<String, usize>,
    /// Geometric mean of the final scores; an empty pass directory has 1.
    pub score: f64,
    /// Mean reward.
    pub reward: f64,
    /// Steps in all.
    pub steps: usize,
    /// Evaluations in all.
    pub evaluations: usize,
    /// Tool calls by name: all, and failed.
    pub calls: BTreeMap<String, (usize, usize)>,
    /// Graphs by status, over all evaluations on the way.
    pub failures: BTreeMap<Status, usize>,
    /// Attempts by outcome of the first and of the final evaluation.
    pub flow: Vec<OutcomeFlow>,
    /// Tokens and money.
    pub usage: TokenUsage,
    /// Time of models, in nanoseconds.
    pub model_ns: u64,
    /// Time of tools, in nanoseconds.
    pub tool_ns: u64,
    /// The best score against the step.
    pub best_so_far: Vec<BestSoFar>,
    #[serde(skip)]
    flows: BTreeMap<(&'static str, &'static str), usize>,
    #[serde(skip)]
    logs: f64,
    #[serde(skip)]
    rewards: f64,
    #[serde(skip)]
    names: BTreeSet<String>,
    #[serde(skip)]
    curves: Vec<Vec<f64>>,
}

/// Returns the outcome of an evaluation in one word.
fn outcome(evaluation: Option<&TaskEvaluation>) -> &'static str {
    let Some(evaluation) = evaluation else { return "none" };
    let any = |status: Status| evaluation.graphs.iter().any(|graph| graph.status == status);
    if evaluation.is_cheating() {
        "integrity"
    } else if evaluation.correct() == evaluation.graphs.len() {
        match (any(Status::Unstable), evaluation.score > 1.0) {
            (_, true) => "faster",
            (false, false) => "correct",
            (true, false) => "unsettled",
        }
    } else if evaluation.correct() > 0 {
        "partly"
    } else if any(Status::NoMatch) {
        "no_match"
    } else {
        "wrong"
    }
}

impl TrajectoryStats {
    /// Adds a trajectory.
    pub fn add(&mut self, trajectory: &Trajectory) {
        self.attempts += 1;
        self.names.insert(trajectory.setup.task.id.clone());
        *self.models.entry(trajectory.setup.model.clone()).or_default() += 1;
        *self.exits.entry(trajectory.exit).or_default() += 1;
        let (correct, graphs) = trajectory.correct();
        self.all_correct += usize::from(correct == graphs && graphs > 0);
        self.rewarded += usize::from(trajectory.reward.value > 0.0);
        self.cheated += usize::from(!trajectory.findings.is_empty());
        if let Some(style) = style_of(trajectory) {
            *self.styles.entry(style).or_default() += 1;
        }
        for finding in &trajectory.findings {
            *self.findings.entry(finding.clone()).or_default() += 1;
        }
        // A score of 0 would make the geometric mean of a whole collection 0.
        self.logs += trajectory.score.max(f64::MIN_POSITIVE).ln();
        self.rewards += trajectory.reward.value;
        self.steps += trajectory.steps.len();
        self.usage += trajectory.usage;
        for step in &trajectory.steps {
            self.model_ns += step.latency_ns;
            for tool in &step.tools {
                self.tool_ns += tool.outcome.wall_ns;
                let calls = self.calls.entry(tool.name.clone()).or_default();
                calls.0 += 1;
                calls.1 += usize::from(!tool.outcome.ok);
            }
        }
        for (_, evaluation) in trajectory.evaluations() {
            self.evaluations += 1;
            for graph in &evaluation.graphs {
                *self.failures.entry(graph.status).or_default() += 1;
            }
        }
        let first = trajectory.evaluations().next().map(|(_, evaluation)| evaluation);
        *self.flows.entry((outcome(first), outcome(trajectory.evaluation.as_ref()))).or_default() += 1;
        self.curves.push(best_so_far(trajectory));
    }

    /// Completes the statistics.
    pub fn finish(mut self) -> Self {
        let attempts = self.attempts.max(1) as f64;
        self.schema_version = TRAJECTORY_VERSION;
        self.tasks = self.names.len();
        (self.score, self.reward) = ((self.logs / attempts).exp(), self.rewards / attempts);
        let flow = |(&(first, last), &attempts): (&(&'static str, &'static str), &usize)| OutcomeFlow {
            first,
            last,
            attempts,
        };
        self.flow = self.flows.iter().map(flow).collect();
        let longest = self.curves.iter().map(Vec::len).max().unwrap_or(0);
        self.best_so_far = (0..longest).map(|step| quartiles(&self.curves, step)).collect();
        self
    }
}

fn quartiles(curves: &[Vec<f64>], step: usize) -> BestSoFar {
    // Ended attempts stay in: without them the curve would show only those that needed long.
    let mut values: Vec<f64> = curves.iter().map(|curve| *curve.get(step).or(curve.last()).unwrap_or(&1.0)).collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    let running = curves.iter().filter(|curve| curve.len() > step).count();
    BestSoFar { step: step + 1, low: at(0.25), median: at(0.5), high: at(0.75), running }
}

#[cfg(test)]
mod tests {
    use passnet_record::ContentId;
    use passnet_record::agent::VerdictSummary;

    use super::*;

    #[test]
    fn outcomes_have_names() {
        let outcome_of = |statuses: &[Status], score: f64| {
            let graph = |&status: &Status| VerdictSummary {
                graph: "000".to_owned(),
                held_out: false,
                status,
                depth: None,
                code: String::new(),
                tolerance: None,
                speedup: None,
                eager_ns: None,
                passes_ns: None,
                cached: false,
                key: ContentId::of(b"k"),
            };
            let graphs = statuses.iter().map(graph).collect();
            let (passes, reward) = (ContentId::of(b"p"), Default::default());
            outcome(Some(&TaskEvaluation { passes, score, reward, graphs, wall_ns: 0 }))
        };
        assert_eq!(outcome(None), "none");
        for (statuses, score, expected) in [
            (&[Status::Correct, Status::Correct][..], 1.5, "faster"),
            (&[Status::Correct, Status::Correct], 0.9, "correct"),
            (&[Status::Correct, Status::Unstable], 1.0, "unsettled"),
            (&[Status::Correct, Status::Accuracy], 0.3, "partly"),
            (&[Status::NoMatch, Status::NoMatch], 1.0, "no_match"),
            (&[Status::Accuracy, Status::RuntimeError], 0.1, "wrong"),
            (&[Status::Correct, Status::Integrity], 0.3, "integrity"),
        ] {
            assert_eq!(outcome_of(statuses, score), expected, "{statuses:?}");
        }
    }
}
