//! Evaluations of a pass directory on the graphs of a task, and results of tool calls that made them.

use serde::{Deserialize, Serialize};

use crate::{ContentId, Depth, RatioInterval, Status};

/// Summary of a verdict on one graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictSummary {
    /// Name of the graph.
    pub graph: String,
    /// True if the model was not shown the graph.
    #[serde(default)]
    pub held_out: bool,
    /// Status of the verdict.
    pub status: Status,
    /// Stage that decided the verdict; absent in older records.
    #[serde(default, rename = "tier", skip_serializing_if = "Option::is_none")]
    pub depth: Option<Depth>,
    /// Code of the reason, empty for a plain `correct`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Smallest tolerance at which all outputs were close; `None` if there is none.
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

/// An evaluation of a pass directory on graphs of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskEvaluation {
    /// Content id of the pass directory.
    pub passes: ContentId,
    /// Geometric mean of the sound credits. It is 1 without passes, and 0.1 if every graph is wrong.
    pub score: f64,
    /// Reward for training.
    pub reward: Reward,
    /// One summary per graph.
    pub graphs: Vec<VerdictSummary>,
    /// Wall time of the evaluation.
    pub wall_ns: u64,
}

/// A reward with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reward {
    /// Reward for training, computed from the lower ends of the speed-ups' intervals.
    pub value: f64,
    /// Reward computed from the measured ratios.
    pub point: f64,
    /// Reward computed from the upper ends of the intervals.
    pub high: f64,
}

/// Outcome of a tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// True if the call succeeded.
    pub ok: bool,
    /// Wall time of the call.
    pub wall_ns: u64,
    /// Evaluation that the call made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<TaskEvaluation>,
    /// Check without timing that the call made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<TaskCheck>,
    /// Ids of the integrity rules that the passes broke.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

impl TaskCheck {
    /// Returns the number of graphs with right results.
    pub fn correct(&self) -> usize {
        self.graphs.iter().filter(|graph| graph.status == Status::Correct).count()
    }
}

impl TaskEvaluation {
    /// Returns the number of graphs with right results, including those with unstable timings.
    pub fn correct(&self) -> usize {
        self.graphs.iter().filter(|graph| matches!(graph.status, Status::Correct | Status::Unstable)).count()
    }

    /// Returns whether the passes broke an integrity rule.
    pub fn is_cheating(&self) -> bool {
        self.graphs.iter().any(|graph| graph.status == Status::Integrity)
    }
}

impl ToolOutcome {
    /// Returns the id of the passes that the call evaluated or checked, with the verdicts.
    pub fn judged(&self) -> Option<(&ContentId, &[VerdictSummary])> {
        let evaluated = self.evaluation.as_ref().map(|evaluation| (&evaluation.passes, evaluation.graphs.as_slice()));
        evaluated.or(self.check.as_ref().map(|check| (&check.passes, check.graphs.as_slice())))
    }
}

/// Answer of a tool: the text for the model, and the outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Text for the model.
    pub content: String,
    /// Outcome of the call.
    #[serde(flatten)]
    pub outcome: ToolOutcome,
}

impl Observation {
    /// Creates an answer that has only text. An error is also an answer.
    pub fn of(result: Result<String, String>) -> Self {
        let ok = result.is_ok();
        let content = result.unwrap_or_else(|why| format!("error: {why}"));
        Self { content, outcome: ToolOutcome { ok, ..ToolOutcome::default() } }
    }
}
