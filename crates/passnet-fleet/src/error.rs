//! Errors of a fleet.

use std::{io, path::PathBuf};

use passnet_eval::EvalError;
use passnet_graph::wire::WireError;
use passnet_record::{FilePathError, fleet::InvalidContent};
use passnet_run::StoreError;

/// Error of a run over a fleet. The log has everything up to the error; the same command continues the run.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A referee does not work.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The run's directory.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line of another version, or damaged.
    #[error("not a message of a fleet: {message}: {line}")]
    Message {
        /// The beginning of the line.
        line: String,
        /// The problem.
        message: String,
    },
    /// A parcel that was damaged on the way.
    #[error("a parcel is damaged: {0}")]
    Parcel(String),
    /// The bridge cannot be started.
    #[error("cannot start the bridge to the cluster with {python}: {source}")]
    Bridge {
        /// The interpreter.
        python: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The bridge ended again and again.
    #[error("the connection to the cluster failed {}: {message}", if *.times == 1 { "at once".to_owned() } else { format!("{times} times") })]
    Unreachable {
        /// Number of times.
        times: u32,
        /// Last lines that it wrote to stderr.
        message: String,
    },
    /// Jobs that lost too many stations.
    #[error("{jobs} of the tasks were given up, the first is {task}: {reason}; the same command tries again")]
    GivenUp {
        /// Number of tasks.
        jobs: usize,
        /// The first one.
        task: String,
        /// Last failure of that task.
        reason: String,
    },
    /// A fleet that serves clients cannot answer.
    #[error("the fleet gives no answer: {0}")]
    Service(String),
    /// A cluster without a device that can work on the run.
    #[error("no station of the fleet can work on this run; the last reason: {reason}")]
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
