//! Events of a journal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    conversation::{Finish, Message, Reply, TokenUsage, ToolSpec},
    evaluation::{Observation, TaskEvaluation},
};
use crate::{ContentId, Fingerprint, RunSettings, Split};

/// Version of journals and trajectories.
pub const TRAJECTORY_VERSION: u32 = 1;

/// Identity and conditions of an attempt. Both the header of a journal and a trajectory contain them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptSetup {
    /// Name of the suite.
    pub suite: String,
    /// Version of the suite.
    pub suite_version: String,
    /// Split of the suite: `train` or `eval`.
    pub split: Split,
    /// Facts about the task.
    pub task: TaskFacts,
    /// Number of the attempt at the task, from 0.
    pub attempt: u32,
    /// Name of the model.
    pub model: String,
    /// Seed of sampling.
    pub seed: u64,
    /// Settings of the referee.
    pub settings: RunSettings,
    /// Machine and versions.
    pub fingerprint: Fingerprint,
    /// Tools that the model could call.
    pub tools: Vec<ToolSpec>,
    /// Start of the attempt, in seconds since 1970, UTC.
    pub started_s: u64,
}

/// Facts about a task in a trajectory. They identify the task, and are used to keep evaluation tasks out of training data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFacts {
    /// Name in the suite.
    pub id: String,
    /// Op sequence.
    pub ops: Vec<String>,
    /// Names of the visible graphs.
    pub visible: Vec<String>,
    /// Number of held-out graphs.
    pub held_out: usize,
    /// Structural hashes of all graphs, sorted, each once.
    pub graph_hashes: Vec<ContentId>,
}

/// Settings of a run (`run.json`). They must not change when the run is resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentRunSettings {
    /// [`TRAJECTORY_VERSION`] of the writer.
    pub schema_version: u32,
    /// Name of the suite.
    pub suite: String,
    /// Version of the suite.
    pub suite_version: String,
    /// Name of the model.
    pub model: String,
    /// Limit of steps of each attempt.
    pub steps: u32,
    /// Seed that the seeds of attempts derive from.
    pub seed: u64,
    /// Content id of the prompt templates.
    pub prompts: ContentId,
    /// Settings of the referee.
    pub settings: RunSettings,
    /// Meaning of the numbers of attempts, if they do not count repeated attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbering: Option<String>,
}

/// First event of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// [`TRAJECTORY_VERSION`] of the writer.
    pub schema_version: u32,
    /// Identity and conditions of the attempt.
    #[serde(flatten)]
    pub setup: AttemptSetup,
    /// Maximum number of steps.
    pub steps: u32,
    /// First messages of the conversation.
    pub messages: Vec<Message>,
}

/// Reason for the end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptExit {
    /// The model stopped.
    Done,
    /// The steps were used up.
    Steps,
    /// The token budget was used up.
    Tokens,
    /// The cost budget was used up.
    Cost,
    /// The time was used up.
    Time,
    /// The best score did not rise for `patience` steps.
    NoProgress,
    /// The conversation no longer fits the model's context.
    Context,
    /// The model answered without a tool call several times in a row.
    Useless,
}

impl AttemptExit {
    /// Returns the name that JSON has.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Steps => "steps",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Time => "time",
            Self::NoProgress => "no_progress",
            Self::Context => "context",
            Self::Useless => "useless",
        }
    }
}

/// End of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnd {
    /// Reason.
    pub exit: AttemptExit,
    /// Files of the best passes, by name; empty if no passes were correct.
    pub passes: BTreeMap<String, String>,
    /// Final measurement of the best passes on all graphs, including the held-out ones.
    pub evaluation: Option<TaskEvaluation>,
}

/// Event of an attempt: one line of its journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum JournalEvent {
    /// The attempt began. This is always the first event.
    Started(Box<JournalHeader>),
    /// The model answered.
    Reply {
        /// Step, from 1.
        step: u32,
        /// The message.
        reply: Reply,
        /// Reason why the model stopped.
        finish: Finish,
        /// Tokens and money.
        usage: TokenUsage,
        /// Time from the request to the answer.
        latency_ns: u64,
        /// Number of requests that failed before.
        retries: u32,
        /// Number of messages at the beginning whose observations were dropped from the request.
        elided: usize,
        /// File with the body as received, relative to the journal; empty if nothing was received.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        raw: String,
        /// Corrections that the client made to the answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// A tool answered.
    Observed {
        /// The call.
        call_id: String,
        /// Name of the tool.
        name: String,
        /// The answer.
        observation: Observation,
    },
    /// The harness sent a message.
    Said {
        /// The text.
        content: String,
    },
    /// The attempt ended. This is always the last event.
    Ended(Box<AttemptEnd>),
}
