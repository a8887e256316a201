//! Errors of boards.

use std::{io, path::PathBuf};

use passnet_eval::RunError;
use passnet_run::{StoreError, bundle::BundleError};

/// Reason for which a board refuses a bundle.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionRefusal {
    /// The file is larger than the board permits.
    #[error("the bundle has more than {most} bytes, the limit of this board; submit fewer tasks")]
    TooLarge {
        /// The limit.
        most: usize,
    },
    /// The file is damaged, or not a bundle.
    #[error("the bundle cannot be verified: {0}; pack it again with `passnet bundle RUN`")]
    Damaged(#[from] BundleError),
    /// The run had not finished.
    #[error("the run is not finished; run the same `passnet bench run` command again, then pack the bundle again")]
    Unfinished,
    /// No task has passes.
    #[error("the bundle has no passes; a board evaluates pass directories, not compilers or baselines")]
    NoPasses,
    /// A pass directory of the bundle is incomplete, or has a path that leads out of it.
    #[error("the passes of task `{task}` are not a pass directory: {message}")]
    Passes { task: String, message: String },
    /// Pages cannot show the description of the run.
    #[error("the description of the run is not valid: {0}")]
    Metadata(#[from] passnet_record::MetadataError),
    /// Pages cannot show the author's name.
    #[error("the author's name is not valid: use one line of at most {most} characters")]
    Author {
        /// Largest number of characters of a name.
        most: usize,
    },
    /// Too many bundles are waiting: this number.
    #[error("the inbox is full ({0} bundles); submit again later")]
    Full(usize),
    /// A submitter has sent as many bundles as the board takes in a window of time.
    #[error(
        "you have sent {most} bundles within {window_s} s, the limit of this board for one submitter; submit again in {retry_after_s} s"
    )]
    TooMany {
        /// The limit.
        most: usize,
        /// Length of the window, in seconds.
        window_s: u64,
        /// Seconds until the board accepts the next bundle.
        retry_after_s: u64,
    },
    /// No hidden graph belongs to a task for which the bundle has passes.
    #[error("the bundle has passes for none of the tasks of this board's suite {suite}")]
    NoCommonTask { suite: String },
}

#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// The board refused a bundle.
    #[error(transparent)]
    Refused(#[from] SubmissionRefusal),
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file of the board was changed after the board wrote it.
    #[error("{path}: {message}; restore the file, or remove it with the run of the same name")]
    Altered { path: PathBuf, message: String },
    /// The machine cannot confine passes.
    #[error(
        "this machine has no complete sandbox, which a board needs for untrusted passes: {0}; `passnet doctor` shows the details"
    )]
    NoSandbox(String),
    /// The referee has a fixed seed, which authors could know.
    #[error("a board chooses its own seeds; remove --seed")]
    KnownSeed,
    /// An evaluation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run of the board cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run of the board cannot be scored.
    #[error("the run has no score: {0}")]
    Score(String),
    /// A record of the board is not valid JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}
