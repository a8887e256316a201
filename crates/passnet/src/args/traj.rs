//! Flags of `passnet traj` and `passnet env`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use passnet_agent::corpus::By;

use super::{
    fleet::EnvFleetArgs,
    shared::{Choice, MeasureArgs, SelectionArgs, choice},
};

const SAME_BY: &[Choice<By>] =
    &[("passes", "The final passes", By::Passes), ("replies", "Everything that the model said", By::Replies)];

#[derive(Subcommand)]
pub(crate) enum TrajCommand {
    /// Count: outcomes, failures, tokens, the best score against the step
    Stats(TrajStatsArgs),
    /// Keep those that fit
    Filter(FilterArgs),
    /// Keep one, the best, of those that are the same
    Dedup(TrajDedupArgs),
    /// Part training from validation, and keep evaluation tasks out
    Split(SplitArgs),
    /// Write training data
    Export(TrajExportArgs),
    /// Turn the work of the built-in author into trajectories; the same command continues what was interrupted
    Teach(TeachArgs),
}

#[derive(Args)]
pub(crate) struct TrajStatsArgs {
    /// Trajectories (JSONL), or directories of runs
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page with plots
    #[arg(long)]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct FilterArgs {
    /// Trajectories (JSONL), or directories of runs
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// File to write
    #[arg(long)]
    pub(crate) out: PathBuf,
    /// Final score at least this; 1 is doing nothing
    #[arg(long)]
    pub(crate) min_score: Option<f64>,
    /// Reward at least this
    #[arg(long)]
    pub(crate) min_reward: Option<f64>,
    /// Every graph correct in the end
    #[arg(long)]
    pub(crate) correct: bool,
    /// No integrity rule broken, or every such mistake corrected before the end
    #[arg(long)]
    pub(crate) honest: bool,
    /// No integrity rule broken at any step
    #[arg(long)]
    pub(crate) clean: bool,
    /// Passes that none before had
    #[arg(long)]
    pub(crate) novel: bool,
    /// At most so many steps
    #[arg(long)]
    pub(crate) max_steps: Option<usize>,
    /// At most so many tokens, read and written
    #[arg(long)]
    pub(crate) max_tokens: Option<u64>,
    /// Name of the model contains this
    #[arg(long)]
    pub(crate) model: Option<String>,
}

#[derive(Args)]
pub(crate) struct TrajDedupArgs {
    /// Trajectories (JSONL), or directories of runs
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// File to write
    #[arg(long)]
    pub(crate) out: PathBuf,
    /// Criterion that makes two trajectories on equal graphs duplicates
    #[arg(long, value_parser = choice(SAME_BY), default_value = "passes")]
    pub(crate) by: By,
}

#[derive(Args)]
pub(crate) struct SplitArgs {
    /// Trajectories (JSONL), or directories of runs
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Suite whose tasks must not be in the result; repeat for more
    #[arg(long, required = true)]
    pub(crate) eval_suite: Vec<PathBuf>,
    /// Directory for train.jsonl, validation.jsonl and split.json
    #[arg(long)]
    pub(crate) out: PathBuf,
    /// Share of the tasks that goes to validation
    #[arg(long, default_value_t = 0.05)]
    pub(crate) validation: f64,
}

#[derive(Args)]
pub(crate) struct TrajExportArgs {
    /// Trajectories (JSONL), or directories of runs
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// File to write
    #[arg(long)]
    pub(crate) out: PathBuf,
    /// Form of the data
    #[arg(long, value_enum, default_value_t = TrajFormat::Openai)]
    pub(crate) format: TrajFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrajFormat {
    /// Chat completions with tools, one JSON object per line
    Openai,
    /// `conversations` with `from` and `value`, one JSON object per line
    Sharegpt,
    /// One row per trajectory
    Parquet,
}

#[derive(Args)]
pub(crate) struct TeachArgs {
    /// Suite to teach on; for training data, not one that is evaluated on
    pub(crate) suite: PathBuf,
    /// Directory of the run
    #[arg(long)]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Teach each graph of a task by itself, not all of them together
    #[arg(long)]
    pub(crate) each_graph: bool,
    /// Attempts at a time
    #[arg(long, default_value_t = 4)]
    pub(crate) jobs: usize,
    /// Number of concurrent evaluations; timing is always exclusive. Default: as many as attempts
    #[arg(long)]
    pub(crate) evaluations: Option<usize>,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
}

#[derive(Subcommand)]
pub(crate) enum EnvCommand {
    /// Serve episodes for reinforcement learning: JSON lines on the standard streams, or HTTP
    Serve(EnvServeArgs),
}

#[derive(Args)]
pub(crate) struct EnvServeArgs {
    /// Suite whose tasks are served
    pub(crate) suite: PathBuf,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Actions of an episode
    #[arg(long, default_value_t = 50)]
    pub(crate) steps: u32,
    /// Number of concurrent evaluations; timing is always exclusive. Default: 1 on a CPU, 4 on an accelerator
    #[arg(long)]
    pub(crate) evaluations: Option<usize>,
    /// File that keeps verdicts from one start to the next
    #[arg(long)]
    pub(crate) cache: Option<PathBuf>,
    /// Do not measure the best passes again at the end of an episode
    #[arg(long)]
    pub(crate) no_remeasure: bool,
    /// Directory with templates in place of the built-in ones: system.md, task.md, nudge.md
    #[arg(long, value_name = "DIR")]
    pub(crate) prompts: Option<PathBuf>,
    /// Serve HTTP on this address instead (POST one request, get its reply); port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
    #[command(flatten, next_help_heading = "Fleet")]
    pub(crate) fleet: EnvFleetArgs,
}
