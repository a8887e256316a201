//! Errors of reading and writing runs.

use std::{io, path::PathBuf};

/// An error of reading or writing a run.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another process writes to the run.
    #[error("{path}: another process is writing to this run; wait for it, or choose another directory with --out")]
    Locked {
        /// Directory of the run.
        path: PathBuf,
    },
    /// The run was started with other settings, or by another author, on another suite or on another machine.
    #[error(
        "{path}: this run was started with {what} {before}, now it is {now}; use the earlier value, or choose another directory with --out"
    )]
    Mismatch {
        /// Directory of the run.
        path: PathBuf,
        /// The field of the header.
        what: String,
        /// The value in the log.
        before: String,
        /// The current value.
        now: String,
    },
    /// A complete line of the log is not an event.
    #[error("{path}:{line}:{column}: not an event of a run log: {message}")]
    Malformed {
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        message: String,
    },
    /// The compressed log cannot be unpacked.
    #[error(
        "{path}: the log is damaged or cut short ({message}); replace it with a complete copy, or evaluate again with \
         --fresh"
    )]
    Damaged {
        path: PathBuf,
        /// The error of the decoder.
        message: String,
    },
    /// There is no log, or it is empty.
    #[error("{path}: not a run or a folder of runs; `passnet bench run` writes runs")]
    Missing {
        /// Directory of the run.
        path: PathBuf,
    },
}
