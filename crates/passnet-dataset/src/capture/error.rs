//! Errors of recording a capture.

use std::{io, path::PathBuf};

/// Error of recording a capture.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// Another process has the ledger open.
    #[error("another `passnet extract` is writing to {0}; wait for it or choose another --out")]
    Busy(PathBuf),
    /// The ledger cannot be read or written.
    #[error("the ledger {path}: {source}")]
    CaptureLedger {
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The capturing process wrote a malformed line.
    #[error("the capture wrote `{line}`: {source}")]
    Line {
        line: String,
        /// The mistake.
        source: serde_json::Error,
    },
    /// The lines cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}
