//! Flags of `passnet plot`.

use std::path::PathBuf;

use clap::Args;

use super::shared::EsArgs;

#[derive(Args)]
#[command(after_help = "Example:\n  passnet plot runs/inductor runs/fuse upstream.log --out figures")]
pub struct PlotArgs {
    /// Run directories, and evaluation logs of the public harness; each becomes one curve
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,
    /// Directory for the files St.svg, ESt.svg and violin.svg
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub es: EsArgs,
}
