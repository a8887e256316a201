//! Trajectories: finished attempts, the source of training data.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use super::{
    conversation::{Finish, Message, TokenUsage},
    evaluation::{Reward, TaskEvaluation, ToolOutcome},
    journal::{AttemptExit, AttemptSetup},
};
use crate::ContentId;

/// A tool call that was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolRun {
    /// Id of the call, as in the messages.
    pub call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Outcome of the call.
    #[serde(flatten)]
    pub outcome: ToolOutcome,
}

/// One reply of the model with the outcomes of its tool calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Number of the step, from 1.
    pub step: u32,
    /// Reason why the model stopped.
    pub finish: Finish,
    /// Tokens and money.
    pub usage: TokenUsage,
    /// Time from request to answer.
    pub latency_ns: u64,
    /// Requests that failed before.
    pub retries: u32,
    /// Tool calls in order.
    pub tools: Vec<ToolRun>,
}

/// Conduct of a model with respect to the integrity rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conduct {
    /// No rule was broken.
    Clean,
    /// A rule was broken, but neither the last evaluated state nor the result breaks a rule.
    Corrected,
    /// A rule was broken, and the last evaluated state or the result still breaks a rule.
    Broken,
}

/// One attempt at one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// Version of the schema.
    pub schema_version: u32,
    /// Content hash of task, model, attempt and messages.
    pub id: ContentId,
    /// Identity and conditions of the attempt.
    #[serde(flatten)]
    pub setup: AttemptSetup,
    /// Maximum number of steps.
    pub steps_allowed: u32,
    /// The whole conversation.
    pub messages: Vec<Message>,
    /// The steps.
    pub steps: Vec<Step>,
    /// Reason for the end.
    pub exit: AttemptExit,
    /// Files of the best passes.
    pub passes: BTreeMap<String, String>,
    /// Final measurement of the best passes on all graphs.
    pub evaluation: Option<TaskEvaluation>,
    /// Score of the final measurement. It is 1 if there are no passes.
    pub score: f64,
    /// Reward of the final measurement.
    pub reward: Reward,
    /// Integrity rules that were broken at any step, sorted.
    pub findings: Vec<String>,
    /// Tokens and cost in total.
    pub usage: TokenUsage,
    /// Time of the model and the tools.
    pub wall_ns: u64,
}

/// Version of a line of a file of trajectories, for readers that need it before they parse the other fields.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct TrajectoryVersion {
    pub schema_version: u32,
}

impl Trajectory {
    /// Returns all evaluations before the final one, with their steps.
    pub fn evaluations(&self) -> impl Iterator<Item = (u32, &TaskEvaluation)> {
        self.steps
            .iter()
            .flat_map(|step| step.tools.iter().filter_map(|tool| Some((step.step, tool.outcome.evaluation.as_ref()?))))
    }

    /// Returns the numbers of correct graphs and of all graphs in the final evaluation.
    pub fn correct(&self) -> (usize, usize) {
        self.evaluation.as_ref().map_or((0, self.setup.task.visible.len() + self.setup.task.held_out), |evaluation| {
            (evaluation.correct(), evaluation.graphs.len())
        })
    }
}

/// Way in which an attempt reached right passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// Every evaluated state was right, and no state was measurably faster than an earlier one.
    Plain,
    /// Every evaluated state was right, and the final passes are faster than an earlier state: their 95 % interval is above that of the
    /// state on at least one graph, and below it on none.
    Tuned,
    /// A state was wrong, did not match or failed, and was corrected later.
    Repaired,
    /// A state broke an integrity rule, and was corrected later.
    Refused,
}

impl Style {
    /// All styles.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Tuned, Self::Repaired, Self::Refused];

    /// Returns the name in files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Tuned => "tuned",
            Self::Repaired => "repaired",
            Self::Refused => "refused",
        }
    }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
