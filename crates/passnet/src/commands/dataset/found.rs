//! The dataset that a stage begins with, and the failures that it ends with.

use std::{path::Path, process::ExitCode};

use anyhow::Result;
use passnet_dataset::{Dataset, Failure};

use crate::failure::{checked, usage};

/// Opens a dataset that has to exist.
pub(super) fn existing(path: &Path) -> Result<Dataset> {
    if path.is_dir() {
        return Ok(Dataset::at(path));
    }
    Err(usage(format!("{}: there is no dataset; `passnet dataset import FOLDER --out DIR` makes one", path.display())))
}

/// Lists on stderr what a stage could not use. Returns the exit code: 1 if there was anything.
pub(super) fn report_failures(failures: &[Failure]) -> Result<ExitCode> {
    for failure in failures {
        // A message of the store begins with the file.
        if failure.message.starts_with(&failure.what) {
            tracing::error!("{}", failure.message);
        } else {
            tracing::error!("{}: {}", failure.what, failure.message);
        }
    }
    checked(failures.is_empty())
}
