//! Flags of `passnet fleet`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use passnet_record::AuthorSpec;

use super::{
    authors::author_names,
    dataset::{AnnotateArgs, BuildSuitesArgs, FoldArgs, ImportArgs, KernelsArgs},
    shared::{MeasureArgs, MetadataArgs, SelectionArgs, positive, seconds, share},
};

#[derive(Subcommand)]
pub enum FleetCommand {
    /// Evaluate authors on a suite; run the same command again to resume
    Run(Box<FleetRunArgs>),
    /// Simulate the scheduler of a large fleet, with durations from measured runs
    Simulate(SimulateArgs),
    /// Run a stage of `passnet dataset` on a cluster, with the same result; run the same command again to resume
    Dataset(FleetDatasetArgs),
    /// Run a stage on one shard; started by the tasks of a fleet
    #[command(hide = true)]
    Shard {
        /// Folder of the shard
        folder: PathBuf,
        /// Number of graphs at a time
        #[arg(long, default_value_t = 1, value_parser = positive)]
        cores: usize,
    },
    /// Answer questions of a stage to PyTorch; started by the actors of a fleet
    #[command(hide = true)]
    Helper,
    /// Run the referee of one device; started by the actors of a fleet
    #[command(hide = true)]
    Station,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet fleet run suites/demo --author eager --address local\n  passnet fleet run suites/passbench-f --author fuse --author inductor --device cuda --address auto"
)]
pub struct FleetRunArgs {
    /// Suite: a folder with `suite.json`, a folder of task folders, a Parquet dataset, or a `.tar.zst` of a folder
    pub suite: PathBuf,
    #[arg(long = "author", value_name = "NAME", required = true, value_parser = crate::authors::parse, help = format!("Author to evaluate: {}; may be repeated", author_names()))]
    pub authors: Vec<AuthorSpec>,
    /// Directory of the run, or of the runs of several authors [default: runs/SUITE-AUTHOR-DEVICE]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Discard the verdicts of earlier runs and start again
    #[arg(long)]
    pub fresh: bool,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub measure: MeasureArgs,
    #[command(flatten)]
    pub metadata: MetadataArgs,
    #[command(flatten, next_help_heading = "Fleet")]
    pub fleet: FleetArgs,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet fleet dataset import samples --out data --address local\n  passnet fleet dataset annotate data --address auto\n  passnet fleet dataset fold data --address ray://head:10001\n  passnet fleet dataset build-suites samples --work work --out suites"
)]
pub struct FleetDatasetArgs {
    #[command(subcommand)]
    pub stage: FleetStage,
    /// Cluster: `auto` (that of this node), `local` (a new one on this machine), HOST:PORT or ray://HOST:PORT
    #[arg(long, global = true, default_value = "auto")]
    pub address: String,
    /// Number of graphs in a shard; a task that is lost repeats its whole shard
    #[arg(long, global = true, value_name = "N", default_value_t = 64, value_parser = positive)]
    pub shard_graphs: usize,
    /// Number of CPU cores for each task or helper process
    #[arg(long, global = true, value_name = "N", default_value_t = 1, value_parser = positive)]
    pub task_cores: usize,
}

/// Stages of `passnet dataset` that can run on a cluster.
#[derive(Subcommand)]
pub enum FleetStage {
    /// Read sample folders into a dataset
    Import(ImportArgs),
    /// Run every graph once, to record shapes, statistics and variants
    Annotate(AnnotateArgs),
    /// Cut subgraphs out of the graphs, in the modes canonical and single-ops
    Fold(FoldArgs),
    /// Count the kernels of prefixes of subgraphs
    Kernels(KernelsArgs),
    /// Build suites from samples, all stages at once; the cluster runs annotation, kernel counts and proofs
    BuildSuites(Box<BuildSuitesArgs>),
}

/// Flags of a run over a fleet.
#[derive(Args)]
pub struct FleetArgs {
    /// Cluster: `auto` (that of this node), `local` (a new one on this machine), HOST:PORT or ray://HOST:PORT
    #[arg(long, default_value = "auto")]
    pub address: String,
    #[command(flatten)]
    pub stations: StationArgs,
    /// Evaluations at a time on each station; timing is always exclusive [default: 1 on a CPU, 4 on a GPU]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub jobs: Option<usize>,
    /// Write the state of the fleet to FILE repeatedly, as Prometheus text for the textfile collector of a node exporter
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
}

/// Flags of all commands that use a fleet.
#[derive(Args)]
pub struct StationArgs {
    /// Number of stations on each node if the device is the CPU; with GPUs there is one station per GPU
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub stations_per_node: u32,
    /// Number of CPU cores near its GPU that each station reserves; 0 reserves none [default: 4 with a GPU, else 0]
    #[arg(long, value_name = "N")]
    pub cores: Option<usize>,
    /// Number of tasks between two health checks of a station; 0 checks only at the start
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub check_every: usize,
    /// Stop a busy station that has sent no message for this long, in seconds
    #[arg(long, default_value = "900", value_name = "SECONDS", value_parser = seconds)]
    pub silence: Duration,
    /// Stop with an error after this long without a usable station, in seconds
    #[arg(long, default_value = "600", value_name = "SECONDS", value_parser = seconds)]
    pub patience: Duration,
}

/// Flags of an environment on a fleet.
#[derive(Args)]
pub struct EnvFleetArgs {
    /// Evaluate on a Ray cluster: `auto` (the default), `local`, HOST:PORT or ray://HOST:PORT
    // Accepts only `--fleet=ADDRESS`, because in `--fleet SUITE` the suite would be read as the address.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub fleet: Option<String>,
    #[command(flatten)]
    pub stations: StationArgs,
    /// Largest number of actions of all clients, running or waiting; further actions get the answer to retry later
    #[arg(long, default_value_t = 4096, value_name = "N", value_parser = positive)]
    pub queue: usize,
    /// Largest number of actions of one client, running or waiting; further actions get the answer to retry later
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = positive)]
    pub client_actions: usize,
    /// Largest number of evaluations of one client at a time; further evaluations wait [default: no limit]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub client_devices: Option<usize>,
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  passnet fleet simulate runs/passbench-f-fuse --devices 1000 --tasks 200000 --station-mtbf-hours 24"
)]
pub struct SimulateArgs {
    /// Runs to take the durations of tasks from
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Number of devices
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = positive)]
    pub devices: usize,
    /// Number of devices on each node; all of them are lost with their node
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = positive)]
    pub devices_per_node: usize,
    /// Evaluations at a time on each device, as in the measured runs
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = positive)]
    pub jobs: usize,
    /// Number of tasks in the simulated run
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = positive)]
    pub tasks: usize,
    /// Number of actions per second that trainers send to the same fleet
    #[arg(long, value_name = "RATE", default_value_t = 0.0)]
    pub actions_per_second: f64,
    /// Number of trainers that send these actions
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub trainers: usize,
    /// Time to start a station, in seconds
    #[arg(long, default_value = "15", value_name = "SECONDS", value_parser = seconds)]
    pub start: Duration,
    /// Duration of a health check, in seconds
    #[arg(long, default_value = "3", value_name = "SECONDS", value_parser = seconds)]
    pub check: Duration,
    /// Number of tasks between two health checks of a station
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub check_every: usize,
    /// Mean time between losses of a station, in hours; 0 means never
    #[arg(long, value_name = "HOURS", default_value_t = 0.0)]
    pub station_mtbf_hours: f64,
    /// Mean time between losses of a node, in hours; 0 means never
    #[arg(long, value_name = "HOURS", default_value_t = 0.0)]
    pub node_mtbf_hours: f64,
    /// Share of health checks that find a device with biased timing, from 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share, default_value_t = 0.0)]
    pub biased: f64,
    /// Seed of the simulation
    #[arg(long, default_value_t = 123)]
    pub seed: u64,
}
