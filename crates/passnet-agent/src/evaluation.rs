//! Evaluations of a pass directory on the graphs of a task, with and without timing.
//!
//! A *verdict* is the referee's result for one graph. A [`TaskEvaluation`] summarises the verdicts of all graphs of a task as a
//! score and a reward. A [`TaskCheck`] summarises verdicts without timing, so it has neither score nor reward.

use passnet_lint::Finding;
use passnet_record::{
    ContentId, Depth, Status, Verdict,
    agent::{TaskCheck, TaskEvaluation, VerdictSummary},
};
use passnet_score::Outcomes;

use crate::{
    depth::depth_of,
    reward::{reward_of, score},
};

/// Summarises verdicts without timings.
pub(crate) fn summarise_check(passes: ContentId, verdicts: &[TaskVerdict], wall_ns: u64) -> TaskCheck {
    TaskCheck { passes, graphs: verdicts.iter().map(summary).collect(), wall_ns }
}

/// Summarises verdicts with timings.
pub(crate) fn summarise_evaluation(
    passes: ContentId,
    verdicts: &[TaskVerdict],
    correct_at: i32,
    wall_ns: u64,
) -> TaskEvaluation {
    let outcomes = Outcomes::from_verdicts(verdicts.iter().map(|graph| &graph.verdict), correct_at).graphs;
    let graphs = verdicts.iter().map(summary).collect();
    TaskEvaluation { passes, score: score(&outcomes), reward: reward_of(&outcomes), graphs, wall_ns }
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
