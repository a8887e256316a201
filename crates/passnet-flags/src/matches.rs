//! Flags of `passnet match`.

use std::path::PathBuf;

use clap::Args;
use passnet_dataset::Table;
use passnet_record::Device;

use super::{dataset::SAMPLE_TABLES, shared::choice};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet match suites/demo/passes --dataset suites/passbench-f\n  passnet match my_passes --dataset samples --check 3 --json"
)]
pub struct MatchArgs {
    /// Pass directories, or folders of pass directories
    #[arg(required = true)]
    pub passes: Vec<PathBuf>,
    /// Dataset, suite, or folder of samples to search
    #[arg(long, value_name = "DIR")]
    pub dataset: PathBuf,
    /// Table of a Parquet dataset [default: graphs if it exists, else subgraphs]
    #[arg(long, value_parser = choice(SAMPLE_TABLES))]
    pub table: Option<Table>,
    /// Evaluate N matches of each pass, to find dtypes that it refuses and matches where its results are wrong
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub check: usize,
    /// With --check: number of graphs for each pass whose dtypes and shapes are computed
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub typed_graphs: usize,
    /// With --check: device to evaluate on
    #[arg(long, default_value = "cpu")]
    pub device: Device,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
}
