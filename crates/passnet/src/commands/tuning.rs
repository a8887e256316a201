//! `--tune-seconds`: configurations of the built-in author's kernels by measurement.

use std::{sync::atomic::AtomicBool, time::Duration};

use anyhow::{Context, Result};
use passnet_eval::{
    Referee, TypedSuite,
    tune::{Tuned, Tuner},
};

use crate::failure::unfit;

/// Measures what the tuning database does not know, and says what was done.
pub(crate) fn tune(referee: &Referee, suite: &TypedSuite, budget: Duration, stop: &AtomicBool) -> Result<()> {
    let cache = referee.cache().ok_or_else(|| {
        unfit("there is no folder for the tuning database; set PASSNET_CACHE, XDG_CACHE_HOME or HOME")
    })?;
    let tuner = Tuner::new(referee, cache)?;
    let progress = |task: &str| tracing::info!("tuning a kernel of {task}");
    let Tuned { measured, known, left } = tuner.tune(suite, budget, stop, &progress).context("cannot tune")?;
    eprintln!("tuning: {measured} kernels measured, {known} known, {left} left as the model has them");
    Ok(())
}
