//! The LLM agent: a model works on a task with tools, what it does becomes training data, and a trainer gets a reward.
//!
//! ```text
//! Task ----> Attempt <----> Model (HTTP, or the teacher)
//!              |  \
//!              |   Toolbox: files in memory, Evaluator (rules, cache, turns, referee)
//!              v
//!           Journal ----> Trajectory ----> corpus: stats, filter, dedup, split, export
//! ```
//!
//! The journal is the truth: one event per line, and the state of an attempt changes only by taking an event, so that a
//! resumed attempt is where the interrupted one was. The crate is synchronous: an attempt is a thread that waits for its
//! model or for its turn at the device. Nothing here prints.

mod attempt;
mod cache;
pub mod client;
mod context;
pub mod corpus;
pub mod env;
mod evaluator;
mod gate;
mod journal;
mod judgement;
mod meaning;
mod message;
mod model;
mod prompt;
mod replay;
mod run;
mod task;
pub mod teach;
mod tools;
mod trajectory;
mod workspace;

pub use attempt::{AttemptError, Limits, Plan, run_attempt};
pub use cache::{Origin, VerdictCache};
pub use evaluator::{Checked, Evaluator, Explained, Scope};
pub use journal::{End, Event, Exit, Header, Journal, JournalError, SCHEMA_VERSION};
pub use judgement::{Check, GraphResult, Judgement, Reward, Tier};
pub use message::{Message, Reply, ToolCall, ToolSpec, shortened};
pub use model::{Completion, Finish, Model, ModelError, Request, Usage};
pub use prompt::{TemplateError, Templates};
pub use replay::{Replayed, replay};
pub use run::{Assignment, RunError, RunOptions, RunOutcome, Suspended, Update, Work, run, run_assigned};
pub use task::{Task, TaskError, TaskFacts};
pub use tools::{Bench, Best, Observation, Toolbox, specs};
pub use trajectory::{Step, ToolRun, Trajectory};
pub use workspace::{EditError, Workspace};
