//! Errors of boards.

use std::{io, path::PathBuf};

use passnet_eval::RunError;
use passnet_run::{StoreError, bundle::BundleError};

/// Reason why a board does not take a bundle.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The file is larger than boards take.
    #[error("the bundle has more than {most} bytes, the most that this board takes; submit fewer tasks at a time")]
    TooLarge {
        /// The limit.
        most: usize,
    },
    /// The bundle is damaged, or not one.
    #[error("the bundle cannot be verified: {0}; make it again with `passnet bundle RUN`")]
    Damaged(#[from] BundleError),
    /// The run had not finished.
    #[error("the run of the bundle is not finished; run the same `passnet bench run` again, then bundle it")]
    Unfinished,
    /// No task has passes.
    #[error("the bundle has no passes; a board evaluates pass directories, not compilers or baselines")]
    NoPasses,
    /// A pass directory of the bundle is incomplete, or has a path that leads out of it.
    #[error("the passes of task `{task}` are not a pass directory: {message}")]
    Passes {
        /// The task.
        task: String,
        /// The problem.
        message: String,
    },
    /// The description of the run cannot be shown.
    #[error("the description of the run cannot be shown: {0}")]
    Metadata(#[from] passnet_record::MetadataError),
    /// The author's name cannot be shown.
    #[error("the author's name cannot be shown: write one line of at most {most} characters")]
    Author {
        /// Most characters of a name.
        most: usize,
    },
    /// Too many bundles wait.
    #[error("{0} bundles wait already; submit again later")]
    Full(usize),
    /// No hidden graph is of a task with passes.
    #[error("the bundle has passes for none of the tasks of this board's suite {suite}")]
    NoCommonTask {
        /// The suite.
        suite: String,
    },
}

/// An error of a board.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// A bundle is not taken.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file of the board is not what the board wrote.
    #[error("{path}: {message}; restore the file, or remove it with the run of the same name")]
    Altered {
        /// The file.
        path: PathBuf,
        /// The problem.
        message: String,
    },
    /// The machine cannot confine the passes.
    #[error(
        "this machine cannot confine passes, and a board evaluates those of strangers: {0}; `passnet doctor` checks the sandbox"
    )]
    NoSandbox(String),
    /// The referee has a seed, which authors could know.
    #[error("a board draws its seeds; leave out --seed")]
    KnownSeed,
    /// An evaluation could not be carried out.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run of the board cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run of the board cannot be scored.
    #[error("the run has no score: {0}")]
    Score(String),
    /// A record of the board is not JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}
