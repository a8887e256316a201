//! Flags of `passnet bisect`.

use std::path::PathBuf;

use clap::Args;
use passnet_record::AuthorSpec;

use super::shared::{MeasureArgs, SelectionArgs};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet bisect samples/resnet18 --author inductor --out failing\n  passnet bisect suites/whole-models --run runs/whole-models-inductor-cpu --out failing"
)]
pub(crate) struct BisectArgs {
    /// Suite, task or sample
    pub(crate) suite: PathBuf,
    /// Author that fails
    #[arg(long, value_name = "NAME", value_parser = crate::commands::authors::parse, required_unless_present = "run")]
    pub(crate) author: Option<AuthorSpec>,
    /// Run with failures: its author, and only the graphs that failed in it
    #[arg(long, value_name = "DIR", conflicts_with = "author")]
    pub(crate) run: Option<PathBuf>,
    /// Directory for the samples of the failing parts
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Evaluations for each graph
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub(crate) max_evaluations: usize,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
}
