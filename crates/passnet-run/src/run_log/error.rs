//! Errors of reading and writing runs.

use std::{io, path::PathBuf};

/// An error of reading or writing a run.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another process writes to the run.
    #[error("{path}: another process is writing to this run; wait for it or choose another run name")]
    Locked {
        /// Directory of the run.
        path: PathBuf,
    },
    /// The run was begun with other settings, another author, suite or machine.
    #[error(
        "{path}: this run was begun with {what} {before}, now it is {now}; choose another run name or go back to what it was"
    )]
    Mismatch {
        /// Directory of the run.
        path: PathBuf,
        /// The field of the header.
        what: String,
        /// The value in the log.
        before: String,
        /// The value of now.
        now: String,
    },
    /// A complete line of the log is not an event.
    #[error("{path}:{line}:{column}: not an event of a run log: {message}")]
    Malformed {
        /// The log.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The problem.
        message: String,
    },
    /// A compressed log that does not unpack.
    #[error(
        "{path}: the log is damaged or cut short ({message}); copy it again from where it is whole, or evaluate again with \
         --fresh"
    )]
    Damaged {
        /// The log.
        path: PathBuf,
        /// The error of the decoder.
        message: String,
    },
    /// There is no log, or it is empty.
    #[error("{path}: there is no run and no folder of runs here; `passnet bench run` makes one")]
    Missing {
        /// Directory of the run.
        path: PathBuf,
    },
}
