//! Flags of the commands that show, compare and pass on runs.

use std::{
    ffi::OsString,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use clap::{Args, ValueEnum};
use passnet_record::AuthorSpec;
use passnet_score::Condition;
use passnet_site::Extras;

use super::shared::{MeasureArgs, SelectionArgs};

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// Directories of runs, or bundles
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Write a self-contained HTML page (the same as `--format html --out FILE`)
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Output format; docs/reference/report-schema.md describes json, csv and parquet
    #[arg(long, value_enum, default_value_t = ReportFormat::Table)]
    pub(crate) format: ReportFormat,
    /// Write to this file instead of stdout
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// The leaderboard, for a terminal
    Table,
    /// The leaderboard and the failures, for an issue tracker
    Md,
    /// One self-contained page
    Html,
    /// Headers and scores
    Json,
    /// One row per graph
    Csv,
    /// One row per graph; needs --out
    Parquet,
}

/// Options for the content of pages other than runs.
#[derive(Args)]
pub(crate) struct ExtraPageArgs {
    /// Suite that runs are of, so that its graphs can be drawn; repeat for more
    #[arg(long, value_name = "FOLDER")]
    pub(crate) suite: Vec<PathBuf>,
    /// Do not ask PyTorch for the shapes within graphs; those of inputs are known without
    #[arg(long)]
    pub(crate) no_shapes: bool,
    /// Dataset to show counts of
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dataset: Option<PathBuf>,
    /// Trajectories to show: a JSONL file, or a folder of such; repeat for more
    #[arg(long, value_name = "PATH")]
    pub(crate) trajectories: Vec<PathBuf>,
    /// Add a page with the published figures of the PassNet paper
    #[arg(long)]
    pub(crate) published: bool,
}

impl ExtraPageArgs {
    /// Returns the places of the content.
    pub(crate) fn extras(&self) -> Extras<'_> {
        Extras {
            suites: &self.suite,
            shapes: !self.no_shapes,
            dataset: self.dataset.as_deref(),
            trajectories: &self.trajectories,
            published: self.published,
        }
    }
}

#[derive(Args)]
pub(crate) struct SiteArgs {
    /// Folder for the pages; an earlier site in it is replaced, anything else is left alone
    pub(crate) out: PathBuf,
    /// Directories of runs, bundles, or folders of either
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) extra: ExtraPageArgs,
}

/// Address of a server of pages.
#[derive(Args)]
pub(crate) struct ListenArgs {
    /// Address to listen on; any but a loopback address needs a token
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port; 0 takes a free one
    #[arg(long, default_value_t = 8420)]
    port: u16,
    /// Token that every client has to show; made up and printed where one is needed and none is given
    #[arg(long, env = "PASSNET_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}

impl ListenArgs {
    /// Returns the address.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.host, self.port)
    }
}

#[derive(Args)]
pub(crate) struct ServeArgs {
    /// Folder of runs and bundles; what changes in it is read again
    #[arg(default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Serve the training environment of a suite instead of pages, as `passnet env serve SUITE --listen HOST:PORT` does
    #[arg(long, value_name = "SUITE", conflicts_with_all = ["runs", "suite", "no_shapes", "dataset", "trajectories"])]
    pub(crate) env: Option<PathBuf>,
    /// With --env: evaluate on a Ray cluster, `auto` if no address is given
    #[arg(long, value_name = "ADDRESS", requires = "env", num_args = 0..=1, require_equals = true,
          default_missing_value = "auto")]
    pub(crate) fleet: Option<String>,
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    #[command(flatten)]
    pub(crate) extra: ExtraPageArgs,
    /// With --env: flags of `passnet env serve`
    #[arg(last = true, requires = "env", value_name = "FLAGS")]
    pub(crate) env_flags: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct CompareArgs {
    /// Run to compare with
    pub(crate) before: PathBuf,
    /// Run in question
    pub(crate) after: PathBuf,
    /// Leave with 1 where this holds, e.g. 'AS<-2%' or 'newly_wrong>0'; repeat for more (docs/reference/compare.md)
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    pub(crate) fail_on: Vec<Condition>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct BundleArgs {
    /// Directory of a run; with --verify a bundle
    pub(crate) input: PathBuf,
    /// File for the bundle; default RUN.pnb
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
    /// Verify a bundle instead of making one
    #[arg(long)]
    pub(crate) verify: bool,
    /// Id that the bundle must have, as its author published it
    #[arg(long, requires = "verify", value_name = "ID")]
    pub(crate) expect: Option<String>,
}

#[derive(Args)]
pub(crate) struct StudyArgs {
    /// Suite to run; leave it out with --from
    #[arg(required_unless_present = "from")]
    pub(crate) suite: Option<PathBuf>,
    /// Compilers to compare with eager, by author name
    #[arg(long, value_delimiter = ',', default_value = "inductor", value_parser = crate::commands::authors::parse)]
    pub(crate) compilers: Vec<AuthorSpec>,
    /// Make the report of these runs instead of new ones
    #[arg(long, num_args = 1.., conflicts_with = "suite", value_name = "RUN")]
    pub(crate) from: Vec<PathBuf>,
    /// Folder for runs and report
    #[arg(long, default_value = "study")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Number of concurrent evaluations; timing is always exclusive. Default: 1 on a CPU, 4 on an accelerator
    #[arg(long)]
    pub(crate) jobs: Option<usize>,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  passnet board board --hidden suites/hidden --host 0.0.0.0 --token SECRET")]
pub(crate) struct BoardArgs {
    /// Folder of the board; it is made where there is none
    pub(crate) folder: PathBuf,
    /// Suite that submissions are evaluated on, and that nobody else has
    #[arg(long, value_name = "SUITE")]
    pub(crate) hidden: PathBuf,
    /// Evaluate what waits, then end; for a board that is a repository
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet submit fuse.pnb --to https://board.example.org --wait 3600\n  passnet submit fuse.pnb --to board"
)]
pub(crate) struct SubmitArgs {
    /// Bundle of a finished run, as `passnet bundle` writes it
    pub(crate) bundle: PathBuf,
    /// Address of a board, or its folder
    #[arg(long, value_name = "URL|DIR")]
    pub(crate) to: String,
    /// Token of the board
    #[arg(long, env = "PASSNET_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Wait for the result, at most that many seconds, and verify its signature
    #[arg(long, value_name = "N", value_parser = super::shared::seconds)]
    pub(crate) wait: Option<Duration>,
    /// Public key that the result must be signed with, as the board published it
    #[arg(long, requires = "wait", value_name = "HEX")]
    pub(crate) key: Option<String>,
}
