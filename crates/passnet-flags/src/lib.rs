//! The flags of the `passnet` command, as types that `clap` parses.
//!
//! Each subcommand has a struct with its flags. A group of flags that several commands take is a separate struct. Methods such as
//! `limits()` and `selection()` convert flags to types of the libraries. The crate never runs anything and never prints.
//!
//! ```
//! use clap::Parser as _;
//! use passnet_flags::{Cli, Command};
//!
//! let cli = Cli::try_parse_from(["passnet", "lint", "my_passes"])?;
//! assert!(matches!(cli.command, Command::Lint(_)));
//! # Ok::<(), clap::Error>(())
//! ```

mod agent;
mod authors;
mod bisect;
mod dataset;
mod extract;
mod fleet;
mod hub;
mod matches;
mod optimize;
mod plot;
mod shared;
mod suites;
mod traj;
mod web;
mod workers;

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use passnet_author::Target;
use passnet_record::{AuthorSpec, Device, Mode};
use passnet_score::WeightTable;

pub use self::agent::{AgentCommand, AgentRunArgs, AttemptArgs, ModelArgs, ReplayArgs, ToolArgs};
pub use self::authors::{author_kinds, author_names};
pub use self::bisect::BisectArgs;
pub use self::dataset::{
    AnnotateArgs, BuildSuitesArgs, CurateArgs, DatasetCommand, DedupArgs, ExportArgs, FoldArgs, FoldMode, ImportArgs,
    KernelsArgs, QueryArgs, ShowArgs, StatsArgs,
};
pub use self::extract::ExtractArgs;
pub use self::fleet::{FleetArgs, FleetCommand, FleetDatasetArgs, FleetRunArgs, FleetStage, SimulateArgs, StationArgs};
pub use self::hub::UploadArgs;
pub use self::matches::MatchArgs;
pub use self::optimize::{OptimizeArgs, OptimizeAuthor};
pub use self::plot::PlotArgs;
pub use self::shared::{EsArgs, MeasureArgs, MetadataArgs, OutputFormat, SelectionArgs};
pub use self::suites::{CardArgs, LeaksArgs, PruneArgs, ReviseArgs, WithholdArgs};
pub use self::traj::{
    EnvCommand, EnvServeArgs, FilterArgs, Shard, SplitArgs, TeachArgs, TrajCommand, TrajDedupArgs, TrajExportArgs,
    TrajFormat, TrajStatsArgs,
};
pub use self::web::{
    BoardArgs, BundleArgs, CompareArgs, ReportArgs, ReportFormat, ServeArgs, SiteArgs, StudyArgs, SubmitArgs,
};

/// Find, check and measure faster code for the graphs that tensor compilers leave slow.
#[derive(Parser)]
#[command(name = "passnet", version, propagate_version = true, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub verbosity: Verbosity,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Args)]
pub struct Verbosity {
    /// Log more to stderr: -v for info, -vv for debug, -vvv for trace
    #[arg(short, long, action = ArgAction::Count, global = true, help_heading = "Global options", display_order = 1000)]
    verbose: u8,
    /// Log only errors
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
    /// Returns whether `-v` is given.
    pub fn is_verbose(&self) -> bool {
        self.verbose > 0
    }

    /// Returns the lowest level of messages that are logged.
    pub fn filter(&self) -> &'static str {
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
pub enum Command {
    /// Capture the graphs of models as samples
    Extract(ExtractArgs),
    /// Build and inspect datasets of graphs, subgraphs and tasks
    #[command(subcommand)]
    Dataset(DatasetCommand),
    /// Evaluate a pass directory or an author on one task
    Eval(EvalArgs),
    /// Evaluate an author on a whole suite
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Evaluate authors on all devices of a Ray cluster
    #[command(subcommand)]
    Fleet(FleetCommand),
    /// Find the smallest part of each graph on which an author fails
    Bisect(Box<BisectArgs>),
    /// Let a language model write passes, with tools
    #[command(subcommand)]
    Agent(AgentCommand),
    /// Inspect, select and export the trajectories of language models
    #[command(subcommand)]
    Traj(TrajCommand),
    /// Serve the environment for reinforcement learning
    #[command(subcommand)]
    Env(EnvCommand),
    /// Write passes with the built-in author
    Fuse(FuseArgs),
    /// Find where passes match, conflict or give wrong results in a dataset
    Match(MatchArgs),
    /// Make a model faster, and save its passes as a library
    Optimize(OptimizeArgs),
    /// Check pass directories against the integrity rules
    Lint(LintArgs),
    /// Compute S_t, ES_t and AS of a run or of a log of the public harness
    Score(ScoreArgs),
    /// Plot S(t), ES(t) and the distribution of speed-ups, as SVG
    Plot(PlotArgs),
    /// Print the leaderboard of runs, as a table, HTML, JSON, CSV or Parquet
    Report(ReportArgs),
    /// Compare two runs graph by graph, and fail on a regression
    Compare(CompareArgs),
    /// Show runs in a browser, or serve the training environment
    Serve(ServeArgs),
    /// Write the pages of runs as static files
    Site(SiteArgs),
    /// Pack a run into one file that others can verify
    Bundle(BundleArgs),
    /// Submit a bundle to a leaderboard
    Submit(SubmitArgs),
    /// Run a leaderboard that evaluates submissions on hidden graphs
    Board(BoardArgs),
    /// Measure how often compilers make subgraphs slower than eager mode
    Study(StudyArgs),
    /// Check the installation: interpreter, compilers, sandbox, GPU
    Doctor(DoctorArgs),
    /// Run the attack suite against this installation
    Attacks(AttacksArgs),
    /// Create a pass directory for a task, with its pattern and a simple kernel
    New(NewArgs),
    /// Print completions for a shell
    Completions {
        /// Shell to print completions for
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

#[derive(Args)]
#[command(after_help = "Example:\n  passnet new suites/demo/gpt2-gelu-tanh --out my_passes")]
pub struct NewArgs {
    /// Task folder
    pub task: PathBuf,
    /// Directory to create
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Device of the kernel: C++ for `cpu`, Triton for `cuda`
    // Not a `Device`: writing a kernel needs the kind of the device, not its number.
    #[arg(long, value_parser = shared::choice(TARGETS), default_value = "cpu")]
    pub device: Target,
}

#[derive(Subcommand)]
pub enum BenchCommand {
    /// Evaluate an author on a suite; run the same command again to resume
    Run(Box<BenchRunArgs>),
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet eval suites/demo/gpt2-gelu-tanh --passes my_passes --watch\n  passnet eval suites/demo/gpt2-gelu-tanh --author inductor --json"
)]
pub struct EvalArgs {
    /// Task folder, sample folder or suite
    pub task: PathBuf,
    /// Pass directory to evaluate
    #[arg(long, value_name = "DIR", conflicts_with = "author")]
    pub passes: Option<PathBuf>,
    // The list is read from the registration table, so that it includes new authors.
    #[arg(long, value_name = "NAME", value_parser = crate::authors::parse, help = format!("Author to evaluate instead: {}", author_names()))]
    pub author: Option<AuthorSpec>,
    /// If TASK is a suite: only tasks whose name, or whose ops joined by `,`, contain TEXT; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Print score, reward and verdicts as JSON
    #[arg(long)]
    pub json: bool,
    /// Evaluate again whenever a file of the pass directory changes
    #[arg(long, requires = "passes")]
    pub watch: bool,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet bench run suites/demo --author dir:my_passes\n  passnet bench run suites/passbench-f --author inductor --filter softmax --tasks 10"
)]
pub struct BenchRunArgs {
    /// Suite: a folder with `suite.json`, a folder of task folders, a Parquet dataset, or a `.tar.zst` of a folder
    pub suite: PathBuf,
    #[arg(long, value_name = "NAME", value_parser = crate::authors::parse, help = format!("Author to evaluate: {}, llm:MODEL", author_names()))]
    pub author: AuthorSpec,
    /// Directory of the run [default: runs/SUITE-AUTHOR-DEVICE]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of evaluations at a time; timing is always exclusive [default: 1 on a CPU, 4 on a GPU]
    #[arg(long, value_name = "N", value_parser = shared::positive)]
    pub jobs: Option<usize>,
    /// Discard the verdicts of an earlier run and start again
    #[arg(long)]
    pub fresh: bool,
    /// Author fuse: measure variants of its kernels for this long first, in seconds; later runs reuse the results
    #[arg(long, value_name = "SECONDS", value_parser = shared::seconds)]
    pub tune_seconds: Option<Duration>,
    /// Author fuse: do not time passes first; keep those that are slower than eager mode
    #[arg(long)]
    pub no_confirm: bool,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub measure: MeasureArgs,
    #[command(flatten)]
    pub metadata: MetadataArgs,
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub attempt: AttemptArgs,
    /// Author llm:MODEL: number of attempts at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = shared::positive)]
    pub agent_jobs: usize,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet fuse suites/demo/bert-linear-gelu --explain\n  passnet fuse suites/demo --out passes"
)]
pub struct FuseArgs {
    /// Task folder or suite
    pub task: PathBuf,
    /// Directory for the pass directories, one for each task
    #[arg(long, value_name = "DIR", required_unless_present = "explain")]
    pub out: Option<PathBuf>,
    /// Print which operations become one kernel, why, and the expected gain
    #[arg(long)]
    pub explain: bool,
    /// With `--explain`: print the calls, bytes and elements that the predicted times come from
    #[arg(long, requires = "explain")]
    pub json: bool,
    /// Device of the passes: C++ for `cpu`, Triton for `cuda`
    #[arg(long, value_parser = shared::choice(TARGETS), default_value = "cpu")]
    pub device: Target,
    /// Only tasks whose name, or whose ops joined by `,`, contain TEXT; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Measure variants of the kernels on this machine for this long, in seconds; later runs reuse the results
    #[arg(long, value_name = "SECONDS", value_parser = shared::seconds)]
    pub tune_seconds: Option<Duration>,
    /// Time each pass on this machine's device, and drop those that are slower than eager mode
    #[arg(long)]
    pub confirm: bool,
}

const TARGETS: &[shared::Choice<Target>] = &[("cpu", "", Target::Cpu), ("cuda", "", Target::Cuda)];

#[derive(Args)]
#[command(after_help = "Examples:\n  passnet lint my_passes\n  passnet lint --explain PN401")]
pub struct LintArgs {
    /// Pass directories to check
    #[arg(required_unless_present = "explain")]
    pub directories: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = FindingsFormat::Text)]
    pub format: FindingsFormat,
    /// Explain a rule, by id or name; `all` lists the rules
    #[arg(long, value_name = "RULE", conflicts_with = "directories")]
    pub explain: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FindingsFormat {
    /// Each finding with its source line and a way to fix it
    Text,
    /// One JSON object
    Json,
    /// SARIF, for code scanning services
    Sarif,
}

#[derive(Args)]
#[command(after_help = "Example:\n  passnet score runs/fuse --format json")]
pub struct ScoreArgs {
    /// Run directory, or an evaluation log of the public harness
    pub input: PathBuf,
    /// Score to print first: `paper` for AS as the paper defines it, `sound` for the sound score
    #[arg(long, value_parser = shared::one_of::<Mode>(&Mode::ALL.map(Mode::name)), default_value_t = Mode::Paper)]
    pub mode: Mode,
    /// Weight table of AS: as-2026 or as-2025
    #[arg(long, value_name = "NAME", default_value = WeightTable::AS_2026.name)]
    pub weights: String,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub format: OutputFormat,
    #[command(flatten)]
    pub es: EsArgs,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  passnet doctor --quick\n  passnet doctor --device cuda")]
pub struct DoctorArgs {
    /// Device to check: cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu")]
    pub device: Device,
    /// Check the installation only: run no evaluation and no test of the sandbox
    #[arg(long)]
    pub quick: bool,
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  passnet attacks --once\n  passnet attacks --filter timing --json")]
pub struct AttacksArgs {
    /// Directory of the attack suite
    #[arg(default_value = "attacks")]
    pub directory: PathBuf,
    /// Only entries whose family is TEXT or whose name begins with TEXT; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Device to run on; cuda runs the entries that need a GPU
    #[arg(long, default_value = "cpu")]
    pub device: Device,
    /// Run with all layers of defence off and with all on, but not with each layer alone
    #[arg(long)]
    pub quick: bool,
    /// Run only with all layers of defence on: shows attacks that succeed, not whether each would work without defences
    #[arg(long, conflicts_with = "quick")]
    pub once: bool,
    /// Measure the cost of the sandbox and of the checks of measurements for honest passes instead, for this long in seconds
    #[arg(long, value_name = "SECONDS", conflicts_with_all = ["quick", "once"])]
    pub cost: Option<u64>,
    /// Number of evaluations at a time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = shared::positive)]
    pub jobs: usize,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
}
