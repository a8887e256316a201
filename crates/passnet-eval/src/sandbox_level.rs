//! Measurement of the confinement that a worker reaches on this machine.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    error::EvalError,
    scratch::Scratch,
    worker::{Worker, WorkerFault, WorkerOptions},
    zygote::Zygote,
};

/// Time limit of one attempt.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Returns the confinement of a worker on this machine: for each layer `enforced`, or the reason why not.
///
/// # Errors
/// If the fork server does not work.
pub(crate) fn level(zygote: &Arc<Zygote>) -> Result<BTreeMap<String, String>, EvalError> {
    let scratch = Scratch::new()?;
    Ok(start(zygote, &options(&scratch, 0))?.sandbox.clone())
}

pub(crate) fn options(scratch: &Scratch, number: u32) -> WorkerOptions {
    WorkerOptions {
        scratch: scratch.path().join(format!("probe-{number}")),
        memory_bytes: 0,
        cpu_s: 0,
        sandbox: true,
        readable: Vec::new(),
        cache: String::new(),
    }
}

pub(crate) fn start(zygote: &Arc<Zygote>, options: &WorkerOptions) -> Result<Worker, EvalError> {
    let mut worker = Worker::fork(zygote, options).map_err(trouble)?;
    worker.ready(Instant::now() + LIMIT).map_err(trouble)?;
    Ok(worker)
}

pub(crate) fn trouble(fault: WorkerFault) -> EvalError {
    match fault {
        WorkerFault::Zygote(error) => error.into(),
        fault => std::io::Error::other(fault.to_string()).into(),
    }
}
