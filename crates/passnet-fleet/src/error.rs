//! Errors of a fleet.

use std::{io, path::PathBuf};

use passnet_eval::EvalError;
use passnet_graph::wire::WireError;
use passnet_record::{FilePathError, fleet::InvalidContent};
use passnet_run::StoreError;

/// Error of a run over a fleet. The log has everything up to the error; run the same command again to continue.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A referee does not work.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The run's directory.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line of another version, or damaged.
    #[error("not a fleet message: {message}: {line}")]
    Message {
        /// The beginning of the line.
        line: String,
        message: String,
    },
    /// A parcel that was damaged on the way.
    #[error("a compressed message is damaged: {0}")]
    Parcel(String),
    /// The bridge cannot be started.
    #[error("cannot start the bridge to the cluster with {python}: {source}")]
    Bridge {
        python: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The bridge ended too often.
    #[error("the connection to the cluster failed {}: {message}", if *.times == 1 { "at once".to_owned() } else { format!("{times} times") })]
    Unreachable {
        /// Number of times.
        times: u32,
        /// Last lines that it wrote to stderr.
        message: String,
    },
    /// Jobs that lost too many stations.
    #[error("skipped {}; the first is {task}: {reason}; run the same command again to retry", passnet_record::counted(*.jobs, "task"))]
    GivenUp {
        /// Number of tasks.
        jobs: usize,
        /// The first one.
        task: String,
        /// Last failure of that task.
        reason: String,
    },
    /// A stage of the dataset.
    #[error(transparent)]
    Shard(#[from] passnet_dataset::shard::ShardError),
    /// The stage is under way in another process.
    #[error("{}: another command runs this stage; wait for it", .0.display())]
    StageRuns(PathBuf),
    /// Shards of a stage that failed each time.
    #[error("{} failed; the first is {}: {reason}; the results of the others are kept, run the same command again to retry", passnet_record::counted(*.shards, "shard"), first.display())]
    ShardsGivenUp {
        /// Number of shards.
        shards: usize,
        /// Folder of the first one.
        first: PathBuf,
        /// Last failure of that shard.
        reason: String,
    },
    /// A question whose helper was lost each time.
    #[error(
        "the helpers of a question were lost {times} times: {reason}; finished work is kept, run the same command again to continue"
    )]
    HelperLost {
        /// Number of times.
        times: u32,
        /// The reason of the last one.
        reason: String,
    },
    /// The node has another version than the driver.
    #[error("the driver has passnet {driver}, this node has {node}; install the same version on all nodes")]
    Versions {
        /// Version of the driver.
        driver: String,
        /// Version here.
        node: &'static str,
    },
    /// A node that cannot answer any question.
    #[error("{0}")]
    Unfit(String),
    /// A fleet that serves clients cannot answer.
    #[error("the fleet does not answer: {0}")]
    Service(String),
    /// A cluster without a device that can work on the run.
    #[error("no station of the fleet can evaluate this run; last reason: {reason}")]
    NoStation {
        /// The reason of the last one.
        reason: String,
    },
}

impl From<WireError> for FleetError {
    fn from(error: WireError) -> Self {
        Self::Parcel(error.to_string())
    }
}

impl From<FilePathError> for FleetError {
    fn from(error: FilePathError) -> Self {
        Self::Parcel(error.to_string())
    }
}

impl From<InvalidContent> for FleetError {
    fn from(error: InvalidContent) -> Self {
        Self::Parcel(error.to_string())
    }
}

/// Reads a message.
pub(crate) fn message<T: serde::de::DeserializeOwned>(line: &str) -> Result<T, FleetError> {
    serde_json::from_str(line)
        .map_err(|error| FleetError::Message { line: line.chars().take(200).collect(), message: error.to_string() })
}
