//! Flags of `passnet plot`.

use std::path::PathBuf;

use clap::Args;
use passnet_score::Interpretation;

#[derive(Args)]
#[command(after_help = "Example:\n  passnet plot runs/inductor runs/fuse upstream.log --out figures")]
pub(crate) struct PlotArgs {
    /// Directories of runs, and upstream evaluation logs: one curve each
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Directory for St.svg, ESt.svg and violin.svg
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Slowdown penalty p
    #[arg(long, default_value_t = 0.0)]
    pub(crate) penalty: f64,
    /// Error base b
    #[arg(long, default_value_t = 0.1)]
    pub(crate) error_base: f64,
    /// Rule for what positive tolerances forgive: default, passnet or mismatch_extended (see docs/reference/scoring.md)
    #[arg(long, default_value = "default", value_parser = |name: &str| Interpretation::by_name(name))]
    pub(crate) interpretation: Interpretation,
}
