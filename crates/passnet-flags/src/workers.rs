//! Number and limits of the processes that run PyTorch for a stage of a dataset.

use std::thread;

use clap::Args;
use passnet_services::PoolLimits;

use super::shared::above_zero;

/// Number of workers, and the memory limit of each.
#[derive(Args)]
#[command(next_help_heading = "Workers")]
pub struct WorkerArgs {
    /// Number of graphs at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Memory limit for each graph in GiB, without the memory that PyTorch itself takes; a graph that needs more is reported. Does
    /// not limit kernel counts on a GPU
    #[arg(long, alias = "memory", value_name = "GIB", value_parser = above_zero, default_value = "5")]
    pub memory_gib: f64,
}

impl WorkerArgs {
    /// Returns the limits. Without `--jobs`, there is one process per core.
    pub fn limits(&self) -> PoolLimits {
        let processes = self.jobs.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
        PoolLimits { processes, memory_bytes: Some((self.memory_gib * f64::from(1 << 30)) as u64) }
    }
}
