//! Errors of sites.

use std::{io, net::SocketAddr, path::PathBuf};

use passnet_agent::corpus::ReadError;
use passnet_dataset::{OpenError, store::TableError};
use passnet_run::{archive::ArchiveError, bundle::BundleError};

/// Error of making or serving pages.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The folder for the pages holds something else.
    #[error("{0}: the folder has other files; name a new folder")]
    Occupied(PathBuf),
    /// The paths that were named hold no run.
    #[error("no runs found; name a run directory, a bundle or a folder of them")]
    NoRuns,
    /// The folder of runs does not exist.
    #[error("{0}: no such folder; `passnet bench run` writes runs")]
    NoFolder(PathBuf),
    /// The dataset does not exist.
    #[error("{0}: no such dataset; `passnet dataset import` makes one")]
    NoDataset(PathBuf),
    /// The folder of failing parts does not exist, or is a file.
    #[error("{0}: no such folder; `passnet bisect SUITE --run RUN --out DIR` writes one")]
    NoBisected(PathBuf),
    /// The folder has no curve of a training run.
    #[error("{0}: no such file; docs/reference/training-curves.md describes the folder of a training run")]
    NoCurve(PathBuf),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; name another port with --port")]
    Listen {
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// A suite cannot be opened.
    #[error(transparent)]
    Suite(#[from] OpenError),
    /// A run cannot be read.
    #[error(transparent)]
    Run(#[from] ArchiveError),
    /// The bundle of a run cannot be written.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// A table of the dataset cannot be read.
    #[error(transparent)]
    Dataset(#[from] TableError),
    /// Trajectories cannot be read.
    #[error(transparent)]
    Trajectories(#[from] ReadError),
    /// A file of a training run is not in its format.
    #[error("{path}:{line}: {message}; docs/reference/training-curves.md describes the format")]
    Training { path: PathBuf, line: usize, message: String },
    /// A record cannot be shown as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The system refused to read or write.
    #[error(transparent)]
    Io(#[from] io::Error),
}
