//! Errors of the attack runner.

use std::{io, path::PathBuf};

use passnet_eval::EvalError;
use passnet_record::FilePathError;
use passnet_run::SuiteError;

/// An error of running the attack suite.
#[derive(Debug, thiserror::Error)]
pub enum AttackError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The tasks cannot be read.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The machine cannot evaluate.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The directory of an entry is malformed.
    #[error("{path}: {message}")]
    Entry {
        /// Path of its directory or `meta.json`.
        path: PathBuf,
        message: String,
    },
    /// No entry matches a filter.
    #[error("{directory}: no entry matches the filter `{filter}`; a filter is a family, or the beginning of a name")]
    NoMatch {
        /// The attack suite.
        directory: PathBuf,
        /// The filter.
        filter: String,
    },
    /// The pass directory of an entry is malformed.
    #[error("attack {name}: {source}")]
    Passes {
        /// The entry.
        name: String,
        source: FilePathError,
    },
    /// The harness of the positive control failed.
    #[error("{harness}: {message}")]
    Harness {
        /// The program.
        harness: PathBuf,
        /// The failure.
        message: String,
    },
}
