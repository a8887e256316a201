//! The language-model agent: a model works on a task with tools. Attempts become training data, and a trainer gets a reward.
//!
//! ```text
//! Task ----> Attempt <----> LanguageModel (HTTP, or the teacher)
//!              |  \
//!              |   Toolbox: files in memory, Evaluator (rules, cache, queue, referee)
//!              v
//!           Journal ----> Trajectory ----> corpus: stats, filter, dedup, split, export
//! ```
//!
//! The journal is the source of truth: one event per line. The state of an attempt changes only by an event, so a resumed attempt
//! continues exactly where the interrupted one stopped. The crate is synchronous: an attempt is a thread that waits for its model
//! or for a permit of the device.
//!
//! The crate never prints, never shows held-out graphs to a model, and never lets a model write outside its [`Workspace`].
//!
//! [`run()`] makes attempts at all tasks of a suite. [`corpus`] reads their trajectories. A model edits files in a workspace:
//!
//! ```
//! use passnet_agent::Workspace;
//!
//! let mut files = Workspace::default();
//! files.write("/passes/fuse_relu.py", "x = 1\n".to_owned())?;
//! files.replace("fuse_relu.py", "1", "2")?;
//! assert_eq!(files.read("./fuse_relu.py")?, "x = 2\n");
//! assert!(files.write("../outside.py", String::new()).is_err());
//! # Ok::<(), passnet_agent::EditError>(())
//! ```

mod attempt;
mod author;
mod cache;
pub mod client;
mod context_window;
pub mod corpus;
pub mod course;
mod cpu_precheck;
mod depth;
mod devices;
pub mod env;
mod evaluation;
mod evaluator;
mod gpu_tools;
mod graph_facts;
mod journal;
mod machine_facts;
mod model;
mod model_parts;
mod prompt;
mod replay;
mod reward;
mod run;
mod run_text;
mod scratch;
mod semaphore;
mod shorten;
mod style;
mod task;
pub mod teach;
mod tools;
mod totals;
mod trajectory;
pub mod transport;
mod workspace;

pub use attempt::{AttemptError, AttemptLimits, AttemptPlan, run_attempt};
pub use author::{Listener, LlmAuthor};
pub use cache::{Lookup, VerdictCache};
pub use devices::{Busy, Devices};
pub use evaluator::{EvaluationScope, Evaluator, Explained};
pub use journal::{Journal, JournalError};
pub use model::{Completion, LanguageModel, ModelError, Request};
pub use model_parts::{authored, builtin_scores, nothing_authored, worthwhile};
pub use prompt::{TemplateError, Templates};
pub use replay::{ReplayError, Replayed, ReplayedTrajectory, replay, replay_trajectory};
pub use reward::reward_of;
pub use run::{
    AgentRunError, AgentRunOutcome, PlannedAttempt, RunOptions, RunPlan, Suspended, Update, run, run_assigned,
};
pub use run_text::{replay_report, task_table};
pub use shorten::shortened;
pub use style::{learnt_messages, style_of};
pub use task::{Task, TaskError};
pub use tools::{Best, ToolContext, Toolbox, specs};
pub use totals::Totals;
pub use trajectory::{best_so_far, build_trajectory, conduct_of};
pub use workspace::{EditError, Workspace};
