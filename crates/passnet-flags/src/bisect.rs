//! Flags of `passnet bisect`.

use std::path::PathBuf;

use clap::Args;
use passnet_record::AuthorSpec;

use super::shared::{MeasureArgs, SelectionArgs, positive};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet bisect samples/resnet18 --author inductor --out failing\n  passnet bisect suites/whole-models --run runs/whole-models-inductor-cpu --out failing"
)]
pub struct BisectArgs {
    /// Suite, task or sample
    pub suite: PathBuf,
    /// Author whose failures are reduced
    #[arg(long, value_name = "NAME", value_parser = crate::authors::parse, required_unless_present = "run")]
    pub author: Option<AuthorSpec>,
    /// Run with failures: use its author, and only the graphs that failed
    #[arg(long, value_name = "DIR", conflicts_with = "author")]
    pub run: Option<PathBuf>,
    /// Directory for the smallest failing parts, as samples
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Largest number of evaluations for each graph
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = positive)]
    pub max_evaluations: usize,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub measure: MeasureArgs,
}
