//! Flags of `passnet optimize`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
#[command(
    after_help = "Example:\n  passnet optimize model.py:build --device cuda --out my_library --report report.html"
)]
pub(crate) struct OptimizeArgs {
    /// `FILE.py:FUNCTION`, a function that returns a model and the arguments of a call
    #[arg(value_name = "FILE.py:FUNCTION")]
    pub(crate) model: String,
    /// Directory for the pass library
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Device of the model, such as `cpu` or `cuda`
    #[arg(long, default_value = "cpu")]
    pub(crate) device: String,
    /// Pass directory that is applied before the built-in author; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) passes: Vec<PathBuf>,
    /// Write a page with all regions and times to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Mode of `torch.compile` that is timed as well; may be given several times
    #[arg(long, value_name = "MODE", default_value = "default")]
    pub(crate) mode: Vec<String>,
    /// Print the whole result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
