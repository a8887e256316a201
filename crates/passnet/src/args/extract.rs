//! Flags of `passnet extract`.

use std::path::PathBuf;

use clap::Args;

use super::shared::{Choice, choice};

const VERIFICATIONS: &[Choice<&str>] = &[
    ("read", "It is read back, and its printed graph reads as the same graph", "read"),
    (
        "shapes",
        "And its files, run again on tensors without content, give outputs of the captured shapes and dtypes",
        "shapes",
    ),
];

#[derive(Args, Clone)]
pub(crate) struct ExtractArgs {
    /// `timm:NAME`, `torchvision:NAME`, `torchaudio:NAME`, `diffusers:NAME`, `transformers:TYPE[/CLASS][?FIELD=VALUE&...]` (globs
    /// allowed), `FILE.py:FUNCTION`, each with `@dtype=DTYPE&batch=N`; or `@LIST`
    #[arg(required_unless_present = "suite")]
    pub(crate) models: Vec<String>,
    /// Directory for the samples and the ledger; the same command continues what was interrupted
    #[arg(long, required_unless_present = "suite")]
    pub(crate) out: Option<PathBuf>,
    /// Capture the models of a suite that is a list of models, such as suites/whole-models, into the cache
    #[arg(long, value_name = "DIR", conflicts_with_all = ["models", "out", "sample"])]
    pub(crate) suite: Option<PathBuf>,
    /// Only so many of the models, drawn at random with the seed
    #[arg(long)]
    pub(crate) sample: Option<usize>,
    /// Seed of weights, inputs and --sample
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Reduce transformers models with more parameters: fewer layers and experts first, then narrower ones
    #[arg(long, default_value_t = 5e8)]
    pub(crate) max_parameters: f64,
    /// Models at a time [default: one per core]
    #[arg(long)]
    pub(crate) jobs: Option<usize>,
    /// Wall-clock limit of one model in seconds
    #[arg(long, default_value_t = 120.0)]
    pub(crate) timeout: f64,
    /// Memory of one model in GiB
    #[arg(long, default_value_t = 5.0)]
    pub(crate) memory_gib: f64,
    /// Check that each sample has to pass
    #[arg(long, value_parser = choice(VERIFICATIONS), default_value = "shapes")]
    pub(crate) verify: &'static str,
    /// Try again what failed before
    #[arg(long)]
    pub(crate) retry: bool,
    /// Write the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
