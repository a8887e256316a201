//! Evaluations of a pass directory on the graphs of a task, with and without timing.
//!
//! A *verdict* is what the referee says about one graph. A [`TaskEvaluation`] summarises the verdicts of all graphs of a task in
//! a score and a reward; a [`TaskCheck`] summarises verdicts without timing and has neither.

use passnet_lint::Finding;
use passnet_record::{ContentId, Depth, RatioInterval, Status, Verdict};
use passnet_score::Outcomes;
use serde::{Deserialize, Serialize};

use crate::{
    depth::depth_of,
    reward::{Reward, score},
};

/// A verdict on one graph, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictSummary {
    /// Name of the graph.
    pub graph: String,
    /// True if the model was not shown the graph.
    #[serde(default)]
    pub held_out: bool,
    /// Status of the verdict.
    pub status: Status,
    /// Stage that gave the verdict; absent in records older than stages.
    #[serde(default, rename = "tier", skip_serializing_if = "Option::is_none")]
    pub depth: Option<Depth>,
    /// Code of the reason, empty for a plain `correct`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Smallest tolerance at which all outputs were close.
    pub tolerance: Option<i32>,
    /// Speed-up against eager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<RatioInterval>,
    /// Median time of eager, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eager_ns: Option<f64>,
    /// Median time of the rewritten graph, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes_ns: Option<f64>,
    /// True if the verdict came from the cache.
    #[serde(default)]
    pub cached: bool,
    /// Content key of the verdict.
    pub key: ContentId,
}

/// A check of a pass directory without timing: it only tests whether results are right, so it has no score and no reward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskCheck {
    /// Content id of the pass directory.
    pub passes: ContentId,
    /// One summary per graph; `correct` means that the results are right.
    pub graphs: Vec<VerdictSummary>,
    /// Wall time of the check.
    pub wall_ns: u64,
}

impl TaskCheck {
    /// Summarises verdicts without timings.
    pub(crate) fn of(passes: ContentId, verdicts: &[TaskVerdict], wall_ns: u64) -> Self {
        Self { passes, graphs: verdicts.iter().map(summary).collect(), wall_ns }
    }

    /// Returns the number of graphs with right results.
    pub fn correct(&self) -> usize {
        self.graphs.iter().filter(|graph| graph.status == Status::Correct).count()
    }
}

/// An evaluation of a pass directory on graphs of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskEvaluation {
    /// Content id of the pass directory.
    pub passes: ContentId,
    /// Geometric mean of the sound credits: 1 is doing nothing, 0.1 is wrong on every graph.
    pub score: f64,
    /// Reward for training.
    pub reward: Reward,
    /// One summary per graph.
    pub graphs: Vec<VerdictSummary>,
    /// Wall time of the evaluation.
    pub wall_ns: u64,
}

impl TaskEvaluation {
    /// Summarises verdicts with timings.
    pub(crate) fn of(passes: ContentId, verdicts: &[TaskVerdict], correct_at: i32, wall_ns: u64) -> Self {
        let outcomes = Outcomes::from_verdicts(verdicts.iter().map(|graph| &graph.verdict), correct_at).graphs;
        let graphs = verdicts.iter().map(summary).collect();
        Self { passes, score: score(&outcomes), reward: Reward::of(&outcomes), graphs, wall_ns }
    }

    /// Returns the number of graphs with right results, including those with unstable timings.
    pub fn correct(&self) -> usize {
        self.graphs.iter().filter(|graph| matches!(graph.status, Status::Correct | Status::Unstable)).count()
    }

    /// Returns whether the passes broke an integrity rule.
    pub fn is_cheating(&self) -> bool {
        self.graphs.iter().any(|graph| graph.status == Status::Integrity)
    }
}

/// A verdict on one graph of a task, and how it was obtained.
#[derive(Clone, Debug)]
pub(crate) struct TaskVerdict {
    pub(crate) verdict: Verdict,
    pub(crate) held_out: bool,
    pub(crate) cached: bool,
    pub(crate) depth: Depth,
}

impl TaskVerdict {
    /// Wraps a verdict of the measured device on passes with these lint findings.
    pub(crate) fn new(verdict: Verdict, held_out: bool, cached: bool, findings: &[Finding]) -> Self {
        Self { depth: depth_of(&verdict, findings), verdict, held_out, cached }
    }

    /// Wraps a rejection by the CPU pre-check; the measured device did not run.
    pub(crate) fn rejected(verdict: Verdict) -> Self {
        // Matching does not depend on the device.
        let depth = if verdict.status == Status::NoMatch { Depth::Match } else { Depth::Cpu };
        Self { depth, verdict, held_out: false, cached: false }
    }
}

fn summary(graph: &TaskVerdict) -> VerdictSummary {
    let verdict = &graph.verdict;
    let timing = verdict.scored_timing();
    VerdictSummary {
        graph: verdict.id.graph.clone(),
        held_out: graph.held_out,
        status: verdict.status,
        depth: Some(graph.depth),
        code: verdict.reason.as_ref().map(|reason| reason.code.clone()).unwrap_or_default(),
        tolerance: verdict.tolerance,
        speedup: timing.map(|timing| timing.speedup),
        eager_ns: timing.map(|timing| timing.base.median_ns),
        passes_ns: timing.map(|timing| timing.candidate.median_ns),
        cached: graph.cached,
        key: verdict.key.clone(),
    }
}
