//! Results of tool calls, as journals and trajectories record them.

use passnet_record::ContentId;
use serde::{Deserialize, Serialize};

use crate::evaluation::{TaskCheck, TaskEvaluation, VerdictSummary};

/// Outcome of a tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// True if the call did what was asked.
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

impl ToolOutcome {
    /// Returns the passes that the call had judged, with the verdicts.
    pub(crate) fn judged(&self) -> Option<(&ContentId, &[VerdictSummary])> {
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
    /// Creates an answer of text alone; an error is an answer too.
    pub(crate) fn of(result: Result<String, String>) -> Self {
        let ok = result.is_ok();
        let content = result.unwrap_or_else(|why| format!("error: {why}"));
        Self { content, outcome: ToolOutcome { ok, ..ToolOutcome::default() } }
    }
}
