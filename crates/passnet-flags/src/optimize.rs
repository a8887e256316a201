//! Flags of `passnet optimize`.

use std::path::PathBuf;

use clap::Args;

/// Modes of `torch.compile` that `python/passnet/optimize.py` accepts.
const MODES: [&str; 4] = ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"];

#[derive(Args)]
#[command(
    after_help = "Example:\n  passnet optimize model.py:build --device cuda --out my_library --report report.html"
)]
pub struct OptimizeArgs {
    /// Function that returns a model and the arguments of a call
    #[arg(value_name = "FILE.py:FUNCTION")]
    pub model: String,
    /// Directory for the pass library
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Device of the model: cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu")]
    pub device: String,
    /// Pass directory to apply before the built-in author; may be repeated
    #[arg(long, value_name = "DIR")]
    pub passes: Vec<PathBuf>,
    /// Write an HTML page with all regions and times
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Mode of `torch.compile` to compare with; may be repeated
    #[arg(long, value_name = "MODE", default_value = "default", value_parser = MODES)]
    pub mode: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
