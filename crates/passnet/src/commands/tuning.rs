//! `--tune-seconds`: configurations of the built-in author's kernels by measurement.

use std::{sync::atomic::AtomicBool, time::Duration};

use anyhow::{Context, Result};
use passnet_author::{AuthorError, fuse, fuse::TypedSuite};
use passnet_eval::Referee;

use crate::failure::unfit;

/// Measures the kernels that the tuning database does not contain, and prints a summary.
pub(crate) fn tune(referee: &Referee, suite: &TypedSuite, budget: Duration, stop: &AtomicBool) -> Result<()> {
    let progress = |task: &str| tracing::info!("tuning a kernel of {task}");
    let tuned = match fuse::tune(referee, suite, budget, stop, &progress) {
        Err(error @ AuthorError::NoCache) => return Err(unfit(error.to_string())),
        tuned => tuned.context("cannot tune")?,
    };
    eprintln!("{tuned}");
    Ok(())
}
