//! Stages that ask PyTorch: `annotate`, `kernels`.

use std::process::ExitCode;

use anyhow::Result;
use passnet_dataset::{
    Table,
    annotate::{AnnotationLimits, Runner, annotate},
    kernels::{CountSettings, count_kernels},
};
use passnet_services::{Helper, HelperPool, Interpreter};
use serde_json::{Value, json};

use super::found::{report_failures, with_table};
use crate::{
    args::{AnnotateArgs, KernelsArgs},
    failure::unfit,
    output,
};

pub(super) fn run_annotate(args: &AnnotateArgs) -> Result<ExitCode> {
    let dataset = with_table(&args.dataset, Table::Graphs)?;
    let limits = AnnotationLimits { max_bytes: args.max_bytes, seconds: args.seconds, ..AnnotationLimits::default() };
    let pool = pool(Helper::Annotate)?;
    let found = annotate(&dataset, &runner(&pool), &limits, &|done, all| progress("annotate", done, all))?;
    output::text(&found.to_string())?;
    report_failures(&dataset, &found.failures)
}

pub(super) fn run_kernels(args: &KernelsArgs) -> Result<ExitCode> {
    let (device, exhaustive) = (args.device.to_owned(), args.exhaustive);
    let settings = CountSettings { device, exhaustive, most: args.most, longest: args.longest };
    let dataset = with_table(&args.dataset, Table::Subgraphs)?;
    let pool = pool(Helper::KernelCounts)?;
    let found = count_kernels(&dataset, &runner(&pool), &settings, &|done, all| progress("kernels", done, all))?;
    output::text(&found.to_string())?;
    report_failures(&dataset, &found.failures)
}

/// A pool of helpers, after one of them has answered.
pub(super) fn pool(helper: Helper) -> Result<HelperPool> {
    let pool = HelperPool::new(Interpreter::find(), helper);
    // No helper can answer an empty question, but one that runs says so.
    match pool.ask::<Value>(&json!({})) {
        Err(error) if error.is_unfit() => Err(unfit(error.to_string())),
        _ => Ok(pool),
    }
}

/// The pool as the stages ask it.
pub(super) fn runner(pool: &HelperPool) -> impl Runner {
    |question: &Value| pool.ask(question).map_err(|error| error.to_string())
}

fn progress(stage: &str, done: usize, all: usize) {
    eprintln!("{stage}: {done} of {all}");
}
