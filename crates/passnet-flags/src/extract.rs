//! Flags of `passnet extract`.

use std::path::PathBuf;

use clap::Args;

use super::shared::{Choice, above_zero, choice, positive};

const VERIFICATIONS: &[Choice<&str>] = &[
    ("read", "Read the sample again, and compare the graph with the captured one", "read"),
    ("shapes", "Like read, and run the sample on tensors without data to compare shapes and dtypes", "shapes"),
];

#[derive(Args, Clone)]
#[command(
    after_help = "Examples:\n  passnet extract timm:resnet18 'transformers:bert/*' --out samples\n  passnet extract model.py:build --out samples\n  passnet extract --suite suites/whole-models"
)]
pub struct ExtractArgs {
    /// Models: `LIBRARY:NAME` such as `timm:resnet18`, `transformers:TYPE[/CLASS][?FIELD=VALUE&...]`, `FILE.py:FUNCTION` or `@LIST`.
    /// Names may be globs. `@dtype=DTYPE&batch=N&length=TOKENS&size=PIXELS&mode=train|decode` selects a variant (docs/reference/extract.md)
    #[arg(required_unless_present = "suite")]
    pub models: Vec<String>,
    /// Directory for the samples; run the same command again to resume
    #[arg(long, value_name = "DIR", required_unless_present = "suite")]
    pub out: Option<PathBuf>,
    /// Capture the models that a suite such as suites/whole-models lists, into the cache
    // A suite determines its models and its folder in the cache, so that everyone who uses it has the same graphs.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["models", "out", "sample"])]
    pub suite: Option<PathBuf>,
    /// Capture only N of the models, chosen at random
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Seed for weights, inputs and --sample
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Shrink transformers models with more than N parameters: first fewer layers and experts, then narrower layers
    #[arg(long, value_name = "N", default_value_t = 5e8)]
    pub max_parameters: f64,
    /// Number of models at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub jobs: Option<usize>,
    /// Time limit for each model, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = above_zero, default_value = "120")]
    pub timeout: f64,
    /// Memory limit for each model, in GiB
    #[arg(long, value_name = "GIB", value_parser = above_zero, default_value = "5")]
    pub memory_gib: f64,
    /// Check that is made of each sample
    #[arg(long, value_parser = choice(VERIFICATIONS), default_value = "shapes")]
    pub verify: &'static str,
    /// Try models again that failed before
    #[arg(long)]
    pub retry: bool,
    /// Write the models without samples and the partial ones, each with the reason, to a file that ends in .md or .csv
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}
