//! Records of the agent: conversations, journals, trajectories, and the evaluations in them.
//!
//! A journal (`journal.jsonl`) has one [`JournalEvent`] in each line. A file of trajectories has one [`Trajectory`] in each line.
//! Both have [`TRAJECTORY_VERSION`]; `docs/reference/trajectories.md` describes their fields.

mod conversation;
mod evaluation;
mod journal;
mod trajectory;

pub use conversation::{Finish, Message, Reply, TokenUsage, ToolCall, ToolSpec};
pub use evaluation::{Observation, Reward, TaskCheck, TaskEvaluation, ToolOutcome, VerdictSummary};
pub use journal::{
    AgentRunSettings, AttemptEnd, AttemptExit, AttemptSetup, JournalEvent, JournalHeader, TRAJECTORY_VERSION, TaskFacts,
};
pub use trajectory::{Conduct, Step, Style, ToolRun, Trajectory, TrajectoryVersion};
