//! Flags of `passnet plot`.

use std::path::PathBuf;

use clap::Args;

use super::shared::EsArgs;

#[derive(Args)]
#[command(after_help = "Example:\n  passnet plot runs/inductor runs/fuse upstream.log --out figures")]
pub(crate) struct PlotArgs {
    /// Directories of runs, and upstream evaluation logs: one curve each
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Directory for St.svg, ESt.svg and violin.svg
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) es: EsArgs,
}
