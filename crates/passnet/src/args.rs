//! Flags.

mod agent;
mod dataset;
mod extract;
mod traj;
mod web;

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use passnet_eval::suite::Selection;
use passnet_record::AuthorSpec;
use passnet_score::{Interpretation, WeightTable};

pub(crate) use self::agent::{AgentCommand, AgentRunArgs, ApiFlag, AttemptArgs, ModelArgs, ReplayArgs};
pub(crate) use self::dataset::{
    AnnotateArgs, BuildSuitesArgs, CardArgs, CurateArgs, DatasetCommand, DedupArgs, ExportArgs, FoldArgs, FoldMode,
    ImportArgs, KernelsArgs, QueryArgs, ShowArgs, StatsArgs,
};
pub(crate) use self::extract::ExtractArgs;
pub(crate) use self::traj::{
    EnvCommand, EnvServeArgs, FilterArgs, SameBy, SplitArgs, TeachArgs, TrajCommand, TrajDedupArgs, TrajExportArgs,
    TrajFormat, TrajStatsArgs,
};
pub(crate) use self::web::{
    BesideArgs, BundleArgs, CompareArgs, ReportArgs, ReportFormat, ServeArgs, SiteArgs, StudyArgs,
};

/// Optimization passes for real computation graphs: evaluate, score, publish.
#[derive(Parser)]
#[command(name = "passnet", version, propagate_version = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args)]
pub(crate) struct Verbosity {
    /// Say more on stderr (repeat for yet more)
    #[arg(short, long, action = ArgAction::Count, global = true)]
    verbose: u8,
    /// Say nothing on stderr but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
}

impl Verbosity {
    /// The filter of the log.
    pub(crate) fn filter(&self) -> &'static str {
        match (self.quiet, self.verbose) {
            (true, _) => "error",
            (false, 0) => "warn",
            (false, 1) => "info",
            (false, 2) => "debug",
            (false, _) => "trace",
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Capture the graphs of models as samples
    Extract(ExtractArgs),
    /// Make a dataset of graphs, subgraphs and tasks, and look into it
    #[command(subcommand)]
    Dataset(DatasetCommand),
    /// Evaluate one task, fast, for a person or a training loop
    Eval(EvalArgs),
    /// Evaluate a whole suite
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Let a language model work on tasks with tools
    #[command(subcommand)]
    Agent(AgentCommand),
    /// Look into trajectories, select them, make training data of them
    #[command(subcommand)]
    Traj(TrajCommand),
    /// The environment for reinforcement learning
    #[command(subcommand)]
    Env(EnvCommand),
    /// Write the passes of the built-in author, to look at or to begin from
    Fuse(FuseArgs),
    /// Check pass directories against the integrity rules
    Lint(LintArgs),
    /// Compute S_t, ES_t and AS of a run or of an upstream log
    Score(ScoreArgs),
    /// Put runs side by side: leaderboard, failures, tables for other programs, HTML page
    Report(ReportArgs),
    /// Say what got better, worse or newly wrong between two runs
    Compare(CompareArgs),
    /// Show runs in a browser, or serve the training environment
    Serve(ServeArgs),
    /// Write the same pages as files
    Site(SiteArgs),
    /// Make one file of a run that others can verify
    Bundle(BundleArgs),
    /// Compare compilers with eager on every subgraph of a suite, and say where slowdowns come from
    Study(StudyArgs),
    /// Say what this machine can and cannot do
    Doctor(DoctorArgs),
    /// Run the attack suite against this installation
    Attacks(AttacksArgs),
}

#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Evaluate one author on a suite; the same command continues what was interrupted
    Run(Box<BenchRunArgs>),
}

/// A number of seconds, fractions allowed.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is no number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// How things are measured; shared by `eval` and `bench run`.
#[derive(Args)]
pub(crate) struct MeasureArgs {
    /// Device under test: cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu")]
    pub(crate) device: String,
    /// How verdicts are made: `sound` (the default), or `paper` to reproduce upstream's order and constants
    #[arg(long, value_enum, default_value_t = Mode::Sound)]
    pub(crate) mode: Mode,
    /// Untimed calls before the first timed one [default: 25]
    #[arg(long)]
    pub(crate) warmup: Option<u32>,
    /// Timed calls of each side [default: 100]
    #[arg(long)]
    pub(crate) trials: Option<u32>,
    /// Seed that all others derive from [default: 123]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Tolerance t that a correct graph has to reach, -10 (strict) to 5 [default: -2]
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-10..=5))]
    pub(crate) correct_at: Option<i32>,
    /// How the rewritten graph is run; with `both`, the direct path is scored [default: both; paper mode: compiled]
    #[arg(long, value_enum)]
    pub(crate) paths: Option<Paths>,
    /// Intra-op threads of each worker
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: u32,
    /// Overwrite the last-level cache before each trial
    #[arg(long)]
    pub(crate) cold: bool,
    /// Wall-clock limit of one graph in seconds
    #[arg(long, default_value_t = 300.0)]
    pub(crate) timeout: f64,
    /// Limit on the host memory of one worker in GiB
    #[arg(long, default_value_t = 16.0)]
    pub(crate) memory: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Sound,
    Paper,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Paths {
    Direct,
    Compiled,
    Both,
}

#[derive(Args)]
pub(crate) struct EvalArgs {
    /// Folder of a task (sample folders in it) or of one sample
    pub(crate) task: PathBuf,
    /// Pass directory
    #[arg(long, conflicts_with = "author", required_unless_present = "author")]
    pub(crate) passes: Option<PathBuf>,
    /// eager, noop, fuse, inductor, inductor:MODE, dir:PATH
    #[arg(long)]
    pub(crate) author: Option<AuthorSpec>,
    /// Only tasks whose name or ops contain this, where TASK is a suite
    #[arg(long)]
    pub(crate) filter: Vec<String>,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
    /// Print the verdicts as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which part of a suite is worked on.
#[derive(Args)]
pub(crate) struct SelectionArgs {
    /// Only tasks whose name or ops (joined by `,`) contain this, or fit it where it has `*` or `?`; repeat for more
    #[arg(long)]
    pub(crate) filter: Vec<String>,
    /// Only the first tasks
    #[arg(long)]
    pub(crate) tasks: Option<usize>,
    /// Only the first graphs of each task
    #[arg(long)]
    pub(crate) graphs_per_task: Option<usize>,
}

impl SelectionArgs {
    /// What a suite is loaded with.
    pub(crate) fn selection(&self) -> Selection {
        Selection { patterns: self.filter.clone(), graphs: self.graphs_per_task, tasks: self.tasks }
    }
}

#[derive(Args)]
pub(crate) struct BenchRunArgs {
    /// Suite: a folder with `suite.json`, a folder of task folders, or a `.tar.zst` of either
    pub(crate) suite: PathBuf,
    /// eager, noop, fuse, inductor, inductor:MODE, dir:PATH, llm:MODEL
    #[arg(long)]
    pub(crate) author: AuthorSpec,
    /// Directory of the run; default runs/SUITE-AUTHOR-DEVICE
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Evaluations at a time; timing is exclusive whatever this says. Default: 1 on a CPU, 4 on an accelerator
    #[arg(long)]
    pub(crate) jobs: Option<usize>,
    /// Start over, even where the run has verdicts already
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Author fuse: measure configurations of its kernels for that long first, and remember them; without it, those that are
    /// remembered are used and the others are as a model has them
    #[arg(long, value_name = "N", value_parser = seconds)]
    pub(crate) tune_seconds: Option<Duration>,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
    #[command(flatten, next_help_heading = "Authors llm:MODEL")]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) attempt: AttemptArgs,
    /// Attempts at a time
    #[arg(long, default_value_t = 8)]
    pub(crate) agent_jobs: usize,
}

#[derive(Args)]
pub(crate) struct FuseArgs {
    /// Folder of a task, or a suite
    pub(crate) task: PathBuf,
    /// Directory for the pass directories, one per task
    #[arg(long, required_unless_present = "explain")]
    pub(crate) out: Option<PathBuf>,
    /// Say what becomes one call, why, and what it is expected to give
    #[arg(long)]
    pub(crate) explain: bool,
    /// What the passes are to run on: C++ for `cpu`, Triton for `cuda`
    #[arg(long, value_enum, default_value_t = FuseDevice::Cpu)]
    pub(crate) device: FuseDevice,
    /// Only tasks whose name, or whose ops joined by `,`, contain this; repeat for more
    #[arg(long)]
    pub(crate) filter: Vec<String>,
    /// Measure configurations of kernels on this machine for that long, and remember them; without it, those that are
    /// remembered are used and the others are as a model has them
    #[arg(long, value_name = "N", value_parser = seconds)]
    pub(crate) tune_seconds: Option<Duration>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum FuseDevice {
    Cpu,
    Cuda,
}

#[derive(Args)]
pub(crate) struct LintArgs {
    /// Pass directories
    #[arg(required_unless_present = "explain")]
    pub(crate) directories: Vec<PathBuf>,
    #[arg(long, value_enum, default_value_t = FindingsFormat::Text)]
    pub(crate) format: FindingsFormat,
    /// Print the manual of a rule, by id or name; `all` lists the rules
    #[arg(long, value_name = "RULE", conflicts_with = "directories")]
    pub(crate) explain: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// The line, carets under what is meant, and how to mend it
    Text,
    Json,
    /// For code scanning services
    Sarif,
}

#[derive(Args)]
pub(crate) struct ScoreArgs {
    /// Directory of a run, or an upstream evaluation log
    pub(crate) input: PathBuf,
    /// Which score leads: AS as upstream defines it, or the sound score
    #[arg(long, value_enum, default_value_t = Mode::Paper)]
    pub(crate) mode: Mode,
    /// Slowdown penalty p
    #[arg(long, default_value_t = 0.0)]
    pub(crate) penalty: f64,
    /// Error base b
    #[arg(long, default_value_t = 0.1)]
    pub(crate) error_base: f64,
    /// What positive tolerances forgive: default, passnet or mismatch_extended (see docs/scoring.md)
    #[arg(long, default_value = "default", value_parser = |name: &str| Interpretation::by_name(name))]
    pub(crate) interpretation: Interpretation,
    /// Weight table of AS
    #[arg(long, default_value = WeightTable::AS_2026.name)]
    pub(crate) weights: String,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
}

#[derive(Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
    /// Print findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct AttacksArgs {
    /// Directory of the attack suite
    #[arg(default_value = "attacks")]
    pub(crate) directory: PathBuf,
    /// Only entries whose name begins so, or of that family; repeat for more
    #[arg(long)]
    pub(crate) filter: Vec<String>,
    /// Device to run on: cpu, or cuda for the entries that need it
    #[arg(long, default_value = "cpu")]
    pub(crate) device: String,
    /// All layers off and all on, but not each layer alone
    #[arg(long)]
    pub(crate) quick: bool,
    /// All layers on, only: what is caught and what gets through, not whether attacks work where nothing stops them
    #[arg(long, conflicts_with = "quick")]
    pub(crate) once: bool,
    /// Evaluations at a time
    #[arg(long, default_value_t = 2)]
    pub(crate) jobs: usize,
    /// Print everything as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
