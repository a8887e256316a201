//! Flags of the commands that show, compare and publish runs.

use std::{
    ffi::OsString,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use clap::{Args, ValueEnum};
use passnet_record::AuthorSpec;
use passnet_score::GateCondition;
use passnet_site::Extras;

use super::shared::{MeasureArgs, SelectionArgs, positive};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet report runs/*\n  passnet report runs/* --html report.html\n  passnet report runs/* --format csv --out results.csv"
)]
pub struct ReportArgs {
    /// Run directories, bundles, or folders of them
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Write an HTML page; the same as `--format html --out FILE`
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Output format (docs/reference/report-schema.md)
    #[arg(long, value_enum, default_value_t = ReportFormat::Table)]
    pub format: ReportFormat,
    /// Write to FILE instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Leaderboard for a terminal
    Table,
    /// Leaderboard and counts of failures, as Markdown
    Md,
    /// One HTML page without other files
    Html,
    /// Headers and all scores
    Json,
    /// One row per graph
    Csv,
    /// One row per graph; needs --out
    Parquet,
}

/// Options for the content of pages other than runs.
#[derive(Args)]
#[command(next_help_heading = "Content of the pages")]
pub struct ExtraPageArgs {
    /// Suite of the runs, to draw its graphs; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub suite: Vec<PathBuf>,
    /// Draw graphs without the shapes of intermediate values, which need PyTorch
    #[arg(long)]
    pub no_shapes: bool,
    /// Dataset to show statistics of
    #[arg(long, value_name = "FOLDER")]
    pub dataset: Option<PathBuf>,
    /// Trajectories to show: a JSONL file or a folder of them; may be repeated
    #[arg(long, value_name = "PATH")]
    pub trajectories: Vec<PathBuf>,
    /// Failing parts to show: a folder that `passnet bisect` wrote; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub bisected: Vec<PathBuf>,
    /// Training run to show curves of: a folder with `curve.jsonl` (docs/reference/training-curves.md); may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub training: Vec<PathBuf>,
    /// Add a page with the published figures of the PassNet paper
    #[arg(long)]
    pub published: bool,
}

impl ExtraPageArgs {
    /// Returns the paths of the content.
    pub fn extras(&self) -> Extras<'_> {
        Extras {
            suites: &self.suite,
            shapes: !self.no_shapes,
            dataset: self.dataset.as_deref(),
            trajectories: &self.trajectories,
            bisected: &self.bisected,
            trainings: &self.training,
            published: self.published,
        }
    }
}

#[derive(Args)]
#[command(after_help = "Example:\n  passnet site pages runs --suite suites/demo")]
pub struct SiteArgs {
    /// Folder for the pages; replaces an earlier site there and no other files
    pub out: PathBuf,
    /// Run directories, bundles, or folders of them
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    #[command(flatten)]
    pub extra: ExtraPageArgs,
}

/// Address of a server of pages.
#[derive(Args)]
#[command(next_help_heading = "Server")]
pub struct ListenArgs {
    /// Address to listen on; addresses other than loopback need a token
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on; 0 chooses a free port
    #[arg(long, default_value_t = 8420)]
    port: u16,
    /// Token that clients must present [default: random where one is needed, printed at the start]
    // The help must not print the value, because it is a secret.
    #[arg(long, env = "PASSNET_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

impl ListenArgs {
    /// Returns the address.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.host, self.port)
    }
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet serve runs --suite suites/demo\n  passnet serve --env suites/passbench-train --port 8000 -- --device cuda --steps 20"
)]
pub struct ServeArgs {
    /// Folder of runs and bundles; the pages follow its changes
    #[arg(default_value = "runs")]
    pub runs: PathBuf,
    /// Serve the training environment of a suite instead of pages, like `passnet env serve SUITE --listen HOST:PORT`
    #[arg(long, value_name = "SUITE", conflicts_with_all = ["runs", "ExtraPageArgs"])]
    pub env: Option<PathBuf>,
    /// With --env: evaluate on a Ray cluster [default address: auto]
    // Accepts only `--fleet=ADDRESS`, as in `env serve`.
    #[arg(long, value_name = "ADDRESS", requires = "env", num_args = 0..=1, require_equals = true,
          default_missing_value = "auto")]
    pub fleet: Option<String>,
    #[command(flatten)]
    pub listen: ListenArgs,
    #[command(flatten)]
    pub extra: ExtraPageArgs,
    /// With --env: flags for `passnet env serve`
    // The flags come after `--`, because both commands have flags with the same names.
    #[arg(last = true, requires = "env", value_name = "FLAGS")]
    pub env_flags: Vec<OsString>,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet compare runs/main runs/branch\n  passnet compare runs/main runs/branch --fail-on 'AS.high<-2%' --fail-on 'newly_wrong>0'"
)]
pub struct CompareArgs {
    /// Run or bundle to compare against
    pub before: PathBuf,
    /// Run or bundle to compare
    pub after: PathBuf,
    /// Exit with code 1 if CONDITION holds, for example 'AS<-2%'; may be repeated (docs/reference/compare.md)
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    pub fail_on: Vec<GateCondition>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet bundle runs/fuse --out fuse.pnb\n  passnet bundle --verify fuse.pnb --expect ID"
)]
pub struct BundleArgs {
    /// Run directory; with --verify, a bundle
    pub input: PathBuf,
    /// File for the bundle [default: RUN.pnb]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Verify a bundle instead of writing one
    #[arg(long)]
    pub verify: bool,
    /// Id that the bundle must have, as its author published it
    #[arg(long, requires = "verify", value_name = "ID")]
    pub expect: Option<String>,
}

#[derive(Args)]
#[command(after_help = "Example:\n  passnet study suites/demo --compilers inductor,inductor:max-autotune")]
pub struct StudyArgs {
    /// Suite to run; omit it with --from
    #[arg(required_unless_present = "from")]
    pub suite: Option<PathBuf>,
    /// Compilers to compare with eager mode, by author name, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "inductor", value_parser = crate::authors::parse)]
    pub compilers: Vec<AuthorSpec>,
    /// Report on these finished runs, and start none
    #[arg(long, num_args = 1.., conflicts_with = "suite", value_name = "RUN")]
    pub from: Vec<PathBuf>,
    /// Directory for the runs and the report
    #[arg(long, value_name = "DIR", default_value = "study")]
    pub out: PathBuf,
    /// Number of evaluations at a time; timing is always exclusive [default: 1 on a CPU, 4 on a GPU]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub jobs: Option<usize>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  passnet board board --hidden suites/hidden --host 0.0.0.0 --token SECRET")]
pub struct BoardArgs {
    /// Folder of the board; created if it does not exist
    pub folder: PathBuf,
    /// Suite that submissions are evaluated on; keep it secret
    #[arg(long, value_name = "SUITE")]
    pub hidden: PathBuf,
    /// Evaluate the waiting submissions and exit, without a server
    #[arg(long)]
    pub once: bool,
    #[command(flatten)]
    pub listen: ListenArgs,
    /// Largest number of uploads of one submitter within the window, refused ones included
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Limits")]
    pub uploads: usize,
    /// Length of the window of --uploads, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "86400", value_parser = super::shared::seconds, help_heading = "Limits")]
    pub window: Duration,
    /// Largest bundle, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=64), help_heading = "Limits")]
    pub max_bundle: u16,
    /// Largest number of bundles that wait for evaluation
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Limits")]
    pub queue: usize,
    /// Identify submitters by the last address in `X-Forwarded-For`; use it only behind a proxy that sets this header
    #[arg(long, help_heading = "Limits")]
    pub forwarded: bool,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet submit fuse.pnb --to https://board.example.org --wait 3600\n  passnet submit fuse.pnb --to board"
)]
pub struct SubmitArgs {
    /// Bundle of a finished run, as `passnet bundle` writes it
    pub bundle: PathBuf,
    /// Address or folder of the board
    #[arg(long, value_name = "URL|DIR")]
    pub to: String,
    /// Token of the board
    #[arg(long, env = "PASSNET_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Wait at most this long for the result, in seconds, and verify its signature
    #[arg(long, value_name = "SECONDS", value_parser = super::shared::seconds)]
    pub wait: Option<Duration>,
    /// Public key of the board, to verify the signature with
    #[arg(long, requires = "wait", value_name = "HEX")]
    pub key: Option<String>,
}
