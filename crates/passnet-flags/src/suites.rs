//! Flags of the commands that change, compare and describe suites.

use std::path::PathBuf;

use clap::Args;
use passnet_dataset::suite::{Shares, Split};

use super::shared::{Choice, OutputFormat, choice, share};

const SPLITS: &[Choice<Split>] = &[
    ("place", "Graphs that share ops of a model; other parts of the model may be on the other side", Split::Place),
    ("model", "All graphs of a model", Split::Model),
    ("family", "All graphs of an architecture family, such as resnet", Split::Family),
];

/// The unit of a split.
#[derive(Args)]
pub struct SplitArgs {
    /// Graphs that are kept on the same side, evaluation or training
    #[arg(long = "split", value_parser = choice(SPLITS), default_value = "place")]
    pub unit: Split,
}

#[derive(Args)]
pub struct PruneArgs {
    /// Folder of the suite
    pub suite: PathBuf,
    /// Write the suite to DIR instead of replacing it
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Shares of classes of tasks in a suite.
#[derive(Args)]
#[command(next_help_heading = "Shares of tasks")]
pub struct SharesArgs {
    /// Largest share of trivial tasks (views only, or fewer than 1,024 input elements), from 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share, default_value_t = 0.03)]
    pub trivial: f64,
    /// Smallest share of tasks from language models, if there are enough, from 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share, default_value_t = 0.4)]
    pub language: f64,
    /// Smallest share of tasks with five structures or more, if there are enough, from 0 to 1; `revise` ignores it
    #[arg(long, value_name = "SHARE", value_parser = share, default_value_t = 0.6)]
    pub structures: f64,
}

impl SharesArgs {
    pub fn shares(&self) -> Shares {
        Shares { trivial: self.trivial, language: self.language, structures: self.structures }
    }
}

#[derive(Args)]
pub struct ReviseArgs {
    /// Folder of the suite
    pub suite: PathBuf,
    /// Suite to take tasks from; may be repeated
    #[arg(long, value_name = "SUITE")]
    pub from: Vec<PathBuf>,
    /// Suite whose op sequences must not be taken; may be repeated
    #[arg(long, value_name = "SUITE")]
    pub without: Vec<PathBuf>,
    /// Number of tasks in the result
    #[arg(long, value_name = "N")]
    pub tasks: usize,
    /// Write the suite to DIR instead of replacing it
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub shares: SharesArgs,
}

#[derive(Args)]
pub struct WithholdArgs {
    /// Folder of the training split
    pub train: PathBuf,
    /// Suites that are used for evaluation
    #[arg(required = true)]
    pub suites: Vec<PathBuf>,
    #[command(flatten)]
    pub split: SplitArgs,
    /// Write the split to DIR instead of replacing it
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
#[command(
    after_help = "Exits with 1 if a structure or an op sequence is in both.\n\nExample:\n  passnet dataset leaks suites/passbench-train suites/passbench-f suites/passbench-c --format json"
)]
pub struct LeaksArgs {
    /// Folder of the training split
    pub train: PathBuf,
    /// Suites that are used for evaluation
    #[arg(required = true)]
    pub suites: Vec<PathBuf>,
    /// List pairs of op sequences that share at least N ops; pairs that share fewer are counted but not listed
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub min_ops: usize,
    /// Output format; JSON has all pairs
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub format: OutputFormat,
}

#[derive(Args)]
pub struct CardArgs {
    /// Suites to describe
    #[arg(required = true)]
    pub suites: Vec<PathBuf>,
    /// Add what bounds the time of the tasks, from a file of `benches/dataset/difficulty.py`
    #[arg(long, value_name = "FILE")]
    pub difficulty: Option<PathBuf>,
}
