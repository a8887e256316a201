//! Flags of `passnet fleet`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use passnet_record::AuthorSpec;

use super::shared::{MeasureArgs, MetadataArgs, SelectionArgs, seconds};

#[derive(Subcommand)]
pub(crate) enum FleetCommand {
    /// Evaluate authors on a suite, spread over the devices of a Ray cluster
    Run(Box<FleetRunArgs>),
    /// Run the scheduler in simulated time, with durations from measured runs
    Simulate(SimulateArgs),
    /// The referee of one device; the actors of a fleet start it
    #[command(hide = true)]
    Station,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet fleet run suites/demo --author eager --address local\n  passnet fleet run suites/passbench-f --author fuse --author inductor --device cuda --address auto"
)]
pub(crate) struct FleetRunArgs {
    /// Suite: a folder with `suite.json`, a folder of task folders, or a `.tar.zst` of either
    pub(crate) suite: PathBuf,
    /// eager, noop, fuse, inductor, inductor:MODE, dir:PATH; repeat to evaluate several on the same devices
    #[arg(long = "author", required = true, value_parser = crate::commands::authors::parse)]
    pub(crate) authors: Vec<AuthorSpec>,
    /// Directory of the run, with several authors of their runs; default runs/SUITE-AUTHOR-DEVICE
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Start over, even where the runs have verdicts already
    #[arg(long)]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
    #[command(flatten, next_help_heading = "Description for boards")]
    pub(crate) metadata: MetadataArgs,
    #[command(flatten, next_help_heading = "Fleet")]
    pub(crate) fleet: FleetArgs,
}

/// Flags of a run over a fleet.
#[derive(Args)]
pub(crate) struct FleetArgs {
    /// The cluster: `auto` for the one of this node, `local` for a new one on this machine, HOST:PORT, ray://HOST:PORT
    #[arg(long, default_value = "auto")]
    pub(crate) address: String,
    #[command(flatten)]
    pub(crate) stations: StationArgs,
    /// Concurrent evaluations of one station; timing is always exclusive. Default: 1 on a CPU, 4 on an accelerator
    #[arg(long)]
    pub(crate) jobs: Option<usize>,
    /// File that holds the state of the fleet as Prometheus text, for the textfile collector of a node exporter
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,
}

/// Flags of all commands that use a fleet.
#[derive(Args)]
pub(crate) struct StationArgs {
    /// Stations on each node, where the device is the CPU; on GPUs there is one per GPU
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) stations_per_node: u32,
    /// Cores that each station claims for itself, near its GPU; 0 to run on any [default: 4 with a GPU, else 0]
    #[arg(long)]
    pub(crate) cores: Option<usize>,
    /// Tasks of a station between two A/A checks; 0 for one check at the start
    #[arg(long, default_value_t = 50)]
    pub(crate) check_every: usize,
    /// Longest silence of a station that works, in seconds
    #[arg(long, default_value = "900", value_name = "N", value_parser = seconds)]
    pub(crate) silence: Duration,
    /// Longest time without any station that can work, in seconds
    #[arg(long, default_value = "600", value_name = "N", value_parser = seconds)]
    pub(crate) patience: Duration,
}

/// Flags of an environment on a fleet.
#[derive(Args)]
pub(crate) struct EnvFleetArgs {
    /// Evaluate on a Ray cluster: `auto` (default) for the one of this node, `local` for a new one, HOST:PORT, ray://HOST:PORT
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub(crate) fleet: Option<String>,
    #[command(flatten)]
    pub(crate) stations: StationArgs,
    /// Actions of all clients in work or waiting; above it, clients are asked to come back later
    #[arg(long, default_value_t = 4096, value_name = "N", value_parser = positive)]
    pub(crate) queue: usize,
    /// Actions of one client in work or waiting; above it, the client is asked to come back later
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = positive)]
    pub(crate) client_actions: usize,
    /// Evaluations of one client on devices at a time; the others wait [default: no limit]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) client_devices: Option<usize>,
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  passnet fleet simulate runs/passbench-f-fuse --devices 1000 --tasks 200000 --station-mtbf-hours 24"
)]
pub(crate) struct SimulateArgs {
    /// Runs whose tasks give the durations
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Devices
    #[arg(long, default_value_t = 1000)]
    pub(crate) devices: usize,
    /// Devices of a node, which are lost together with it
    #[arg(long, default_value_t = 8)]
    pub(crate) devices_per_node: usize,
    /// Evaluations at a time on a device, as in the measured runs
    #[arg(long, default_value_t = 4)]
    pub(crate) jobs: usize,
    /// Tasks of the simulated run
    #[arg(long, default_value_t = 200_000)]
    pub(crate) tasks: usize,
    /// Actions of trainers per second, on the same fleet
    #[arg(long, default_value_t = 0.0)]
    pub(crate) actions_per_second: f64,
    /// Trainers that share the actions
    #[arg(long, default_value_t = 16)]
    pub(crate) trainers: usize,
    /// Start of a station, in seconds
    #[arg(long, default_value = "15", value_name = "N", value_parser = seconds)]
    pub(crate) start: Duration,
    /// A/A check, in seconds
    #[arg(long, default_value = "3", value_name = "N", value_parser = seconds)]
    pub(crate) check: Duration,
    /// Tasks of a station between two A/A checks
    #[arg(long, default_value_t = 50)]
    pub(crate) check_every: usize,
    /// Mean time between losses of a station, in hours; 0 for never
    #[arg(long, default_value_t = 0.0)]
    pub(crate) station_mtbf_hours: f64,
    /// Mean time between losses of a node, in hours; 0 for never
    #[arg(long, default_value_t = 0.0)]
    pub(crate) node_mtbf_hours: f64,
    /// Share of the checks that find a bias
    #[arg(long, default_value_t = 0.0)]
    pub(crate) biased: f64,
    /// Seed of everything random
    #[arg(long, default_value_t = 123)]
    pub(crate) seed: u64,
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "give a whole number of at least 1".to_owned())
}
