//! Stages that ask PyTorch: `annotate`, `kernels`.

use std::process::ExitCode;

use anyhow::Result;
use passnet_dataset::{
    Table,
    annotate::{AnnotationLimits, Runner, annotate},
    kernels::{CountSettings, count_kernels},
};
use passnet_services::{Helper, HelperPool, Interpreter, PoolLimits};
use serde_json::Value;

use super::found::{report_failures, with_table};
use crate::{failure::unfit, output};
use passnet_flags::{AnnotateArgs, KernelsArgs};

pub(super) fn run_annotate(args: &AnnotateArgs) -> Result<ExitCode> {
    let dataset = with_table(&args.dataset, Table::Graphs)?;
    let limits = AnnotationLimits { max_bytes: args.max_bytes, seconds: args.seconds, variants: args.variants };
    let pool = pool(Helper::Annotate, args.workers.limits())?;
    let found = annotate(&dataset, &PoolRunner(&pool), &limits, &|done, all| progress("annotate", done, all))?;
    output::text(&found.to_string())?;
    report_failures(&dataset, &found.failures)
}

pub(super) fn run_kernels(args: &KernelsArgs) -> Result<ExitCode> {
    with_table(&args.dataset, Table::Subgraphs)?;
    let pool = pool(Helper::KernelCounts, counting_limits(args.workers.limits(), args.device))?;
    count_with(args, &PoolRunner(&pool))
}

/// Counts kernels with a runner of any kind.
pub(crate) fn count_with(args: &KernelsArgs, runner: &dyn Runner) -> Result<ExitCode> {
    let (device, exhaustive) = (args.device.to_owned(), args.exhaustive);
    let settings = CountSettings { device, exhaustive, most: args.most, longest: args.longest };
    let dataset = with_table(&args.dataset, Table::Subgraphs)?;
    let found = count_kernels(&dataset, runner, &settings, &|done, all| progress("kernels", done, all))?;
    output::text(&found.to_string())?;
    report_failures(&dataset, &found.failures)
}

/// Returns a pool of helpers, after one of them has answered.
pub(crate) fn pool(helper: Helper, limits: PoolLimits) -> Result<HelperPool> {
    let pool = HelperPool::with_limits(Interpreter::find(), helper, limits);
    pool.probe().map_err(|error| unfit(error.to_string()))?;
    Ok(pool)
}

/// Returns the limits for counting on a device. On a GPU there is no memory limit, because the driver reserves more address space than
/// any limit for a graph.
pub(crate) fn counting_limits(limits: PoolLimits, device: &str) -> PoolLimits {
    if device == "cpu" { limits } else { PoolLimits { memory_bytes: None, ..limits } }
}

/// A pool of helpers as a [`Runner`] of stages.
pub(crate) struct PoolRunner<'a>(pub(crate) &'a HelperPool);

impl Runner for PoolRunner<'_> {
    fn ask(&self, question: &Value) -> Result<Value, String> {
        self.0.ask(question).map_err(|error| error.to_string())
    }

    fn width(&self) -> usize {
        self.0.width()
    }
}

fn progress(stage: &str, done: usize, all: usize) {
    eprintln!("{stage}: {done} of {all}");
}
