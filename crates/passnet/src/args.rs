//! Flags.

mod agent;
mod bisect;
mod dataset;
mod extract;
mod fleet;
mod matches;
mod optimize;
mod plot;
mod shared;
mod traj;
mod web;

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use passnet_author::Target;
use passnet_record::{AuthorSpec, Device, Mode};
use passnet_score::WeightTable;

pub(crate) use self::agent::{AgentCommand, AgentRunArgs, AttemptArgs, ModelArgs, ReplayArgs};
pub(crate) use self::bisect::BisectArgs;
pub(crate) use self::dataset::{
    AnnotateArgs, BuildSuitesArgs, CardArgs, CurateArgs, DatasetCommand, DedupArgs, ExportArgs, FoldArgs, FoldMode,
    ImportArgs, KernelsArgs, PruneArgs, QueryArgs, ReviseArgs, ShowArgs, StatsArgs, WithholdArgs,
};
pub(crate) use self::extract::ExtractArgs;
pub(crate) use self::fleet::{FleetArgs, FleetCommand, FleetRunArgs, SimulateArgs, StationArgs};
pub(crate) use self::matches::MatchArgs;
pub(crate) use self::optimize::OptimizeArgs;
pub(crate) use self::plot::PlotArgs;
pub(crate) use self::shared::{EsArgs, MeasureArgs, MetadataArgs, OutputFormat, SelectionArgs};
pub(crate) use self::traj::{
    EnvCommand, EnvServeArgs, FilterArgs, SplitArgs, TeachArgs, TrajCommand, TrajDedupArgs, TrajExportArgs, TrajFormat,
    TrajStatsArgs,
};
pub(crate) use self::web::{
    BoardArgs, BundleArgs, CompareArgs, ReportArgs, ReportFormat, ServeArgs, SiteArgs, StudyArgs, SubmitArgs,
};

/// Optimization passes for real computation graphs: evaluate, score, publish.
#[derive(Parser)]
#[command(name = "passnet", version, propagate_version = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args)]
pub(crate) struct Verbosity {
    /// Write more to stderr; repeat for even more
    #[arg(short, long, action = ArgAction::Count, global = true, help_heading = "Global options", display_order = 1000)]
    verbose: u8,
    /// Write only errors to stderr
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Global options",
        display_order = 1001
    )]
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
    /// Build and inspect datasets of graphs, subgraphs and tasks
    #[command(subcommand)]
    Dataset(DatasetCommand),
    /// Evaluate one task
    Eval(EvalArgs),
    /// Evaluate a whole suite
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Evaluate on the devices of a Ray cluster
    #[command(subcommand)]
    Fleet(FleetCommand),
    /// Find the smallest parts of graphs on which an author fails, and save them as samples
    Bisect(Box<BisectArgs>),
    /// Let a language model work on tasks with tools
    #[command(subcommand)]
    Agent(AgentCommand),
    /// Inspect and select trajectories, and export training data
    #[command(subcommand)]
    Traj(TrajCommand),
    /// The environment for reinforcement learning
    #[command(subcommand)]
    Env(EnvCommand),
    /// Write the passes of the built-in author
    Fuse(FuseArgs),
    /// Count where passes match in a dataset, where they conflict, and where they are refused or wrong
    Match(MatchArgs),
    /// Make one of your models faster, and write its passes as a library
    Optimize(OptimizeArgs),
    /// Check pass directories against the integrity rules
    Lint(LintArgs),
    /// Compute S_t, ES_t and AS of a run or of an upstream log
    Score(ScoreArgs),
    /// Draw S(t), ES(t) and the distributions of speed-ups of runs and upstream logs, as SVG
    Plot(PlotArgs),
    /// Leaderboard of runs, as a table, page, JSON, CSV or Parquet
    Report(ReportArgs),
    /// Compare two runs: what got better, worse or newly wrong
    Compare(CompareArgs),
    /// Show runs in a browser, or serve the training environment
    Serve(ServeArgs),
    /// Write the pages as files
    Site(SiteArgs),
    /// Pack a run into one file that others can verify
    Bundle(BundleArgs),
    /// Hand a bundle to a leaderboard
    Submit(SubmitArgs),
    /// Run a leaderboard: accept bundles, evaluate them on hidden graphs, show signed results
    Board(BoardArgs),
    /// Compare compilers with eager on every subgraph of a suite
    Study(StudyArgs),
    /// Check what this machine can do
    Doctor(DoctorArgs),
    /// Run the attack suite against this installation
    Attacks(AttacksArgs),
    /// Write a pass directory to begin with: the pattern of a task, and a plain kernel that is right
    New(NewArgs),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

#[derive(Args)]
#[command(after_help = "Example:\n  passnet new suites/demo/gpt2-gelu-tanh --out my_passes")]
pub(crate) struct NewArgs {
    /// Folder of a task
    pub(crate) task: PathBuf,
    /// New directory for the pass
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Device that the kernel is for: C++ for `cpu`, Triton for `cuda`
    #[arg(long, value_parser = shared::choice(TARGETS), default_value = "cpu")]
    pub(crate) device: Target,
}

#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Evaluate one author on a suite; the same command continues what was interrupted
    Run(Box<BenchRunArgs>),
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet eval suites/demo/gpt2-gelu-tanh --passes my_passes --watch\n  passnet eval suites/demo/gpt2-gelu-tanh --author inductor --json"
)]
pub(crate) struct EvalArgs {
    /// Folder of a task (sample folders in it) or of one sample
    pub(crate) task: PathBuf,
    /// Pass directory
    #[arg(long, value_name = "DIR", conflicts_with = "author")]
    pub(crate) passes: Option<PathBuf>,
    /// Author instead of a pass directory: eager, noop, fuse, inductor, inductor:MODE, dir:PATH, cudagraphs, thunder, hidet,
    /// tensorrt, compiler:FILE.py
    #[arg(long, value_name = "NAME", value_parser = crate::commands::authors::parse)]
    pub(crate) author: Option<AuthorSpec>,
    /// Only tasks whose name or ops contain this, where TASK is a suite
    #[arg(long)]
    pub(crate) filter: Vec<String>,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
    /// Print score, reward and verdicts as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Evaluate again whenever a file of the pass directory changes
    #[arg(long, requires = "passes")]
    pub(crate) watch: bool,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet bench run suites/demo --author dir:my_passes\n  passnet bench run suites/passbench-f --author inductor --filter softmax --tasks 10"
)]
pub(crate) struct BenchRunArgs {
    /// Suite: a folder with `suite.json`, a folder of task folders, or a `.tar.zst` of either
    pub(crate) suite: PathBuf,
    /// eager, noop, fuse, inductor, inductor:MODE, dir:PATH, llm:MODEL, cudagraphs, thunder, hidet, tensorrt, compiler:FILE.py
    #[arg(long, value_parser = crate::commands::authors::parse)]
    pub(crate) author: AuthorSpec,
    /// Directory of the run; default runs/SUITE-AUTHOR-DEVICE
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Number of concurrent evaluations; timing is always exclusive. Default: 1 on a CPU, 4 on an accelerator
    #[arg(long)]
    pub(crate) jobs: Option<usize>,
    /// Start over, even where the run has verdicts already
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Author fuse: measure configurations of its kernels for that long first, and remember them; without it, those that are
    /// remembered are used and the others are as a model has them
    #[arg(long, value_name = "N", value_parser = shared::seconds)]
    pub(crate) tune_seconds: Option<Duration>,
    /// Author fuse: keep passes that are slower than eager mode on this device
    #[arg(long)]
    pub(crate) no_confirm: bool,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
    #[command(flatten, next_help_heading = "Description for boards")]
    pub(crate) metadata: MetadataArgs,
    #[command(flatten, next_help_heading = "Authors llm:MODEL")]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) attempt: AttemptArgs,
    /// Attempts at a time
    #[arg(long, default_value_t = 8)]
    pub(crate) agent_jobs: usize,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet fuse suites/demo/bert-linear-gelu --explain\n  passnet fuse suites/demo --out passes"
)]
pub(crate) struct FuseArgs {
    /// Folder of a task, or a suite
    pub(crate) task: PathBuf,
    /// Directory for the pass directories, one per task
    #[arg(long, required_unless_present = "explain")]
    pub(crate) out: Option<PathBuf>,
    /// Say what becomes one call, why, and what it is expected to give
    #[arg(long)]
    pub(crate) explain: bool,
    /// Device that the passes run on: C++ for `cpu`, Triton for `cuda`
    #[arg(long, value_parser = shared::choice(TARGETS), default_value = "cpu")]
    pub(crate) device: Target,
    /// Only tasks whose name, or whose ops joined by `,`, contain this; repeat for more
    #[arg(long)]
    pub(crate) filter: Vec<String>,
    /// Measure configurations of kernels on this machine for that long, and remember them; without it, those that are
    /// remembered are used and the others are as a model has them
    #[arg(long, value_name = "N", value_parser = shared::seconds)]
    pub(crate) tune_seconds: Option<Duration>,
    /// Drop passes that are slower than eager mode on this device, which has to be there
    #[arg(long)]
    pub(crate) confirm: bool,
}

const TARGETS: &[shared::Choice<Target>] = &[("cpu", "", Target::Cpu), ("cuda", "", Target::Cuda)];

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
    /// The line, carets under what is meant, and how to fix it
    Text,
    Json,
    /// For code scanning services
    Sarif,
}

#[derive(Args)]
pub(crate) struct ScoreArgs {
    /// Directory of a run, or an upstream evaluation log
    pub(crate) input: PathBuf,
    /// Score to print first: AS as upstream defines it, or the sound score
    #[arg(long, value_parser = shared::one_of::<Mode>(&Mode::ALL.map(Mode::name)), default_value_t = Mode::Paper)]
    pub(crate) mode: Mode,
    #[command(flatten)]
    pub(crate) es: EsArgs,
    /// Weight table of AS
    #[arg(long, default_value = WeightTable::AS_2026.name)]
    pub(crate) weights: String,
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub(crate) format: OutputFormat,
}

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Device to check: cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu")]
    pub(crate) device: Device,
    /// Only the installation: nothing is evaluated, no sandbox is tried
    #[arg(long)]
    pub(crate) quick: bool,
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
    pub(crate) device: Device,
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
