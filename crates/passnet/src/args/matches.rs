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
pub(crate) struct MatchArgs {
    /// Pass directories, or folders with pass directories in them
    #[arg(required = true)]
    pub(crate) passes: Vec<PathBuf>,
    /// Dataset, suite of any form, or folder with sample folders in it
    #[arg(long, value_name = "DIR")]
    pub(crate) dataset: PathBuf,
    /// Table of a Parquet dataset: graphs or subgraphs; default: the first that it has
    #[arg(long, value_parser = choice(SAMPLE_TABLES))]
    pub(crate) table: Option<Table>,
    /// Evaluate so many matches of each pass on sampled inputs: which types it refuses, and where it is wrong
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) check: usize,
    /// With --check: graphs of each pass whose types are looked at
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) typed_graphs: usize,
    /// With --check: device to evaluate on
    #[arg(long, default_value = "cpu")]
    pub(crate) device: Device,
    /// Print everything as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
