//! `passnet extract`: models to samples. A Python process captures the models.

use std::{
    io::BufReader,
    path::Path,
    process::{Child, ExitCode},
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result};
use fs_err as fs;
use passnet_dataset::{
    capture::{CaptureError, CaptureLedger, CaptureProgress, LEDGER, LeftOutFormat, Summary, follow},
    definition::{DEFINITION, Definition},
};
use passnet_record::{CaptureSettings, counted};
use passnet_run::cache_directory;
use passnet_services::{CaptureOptions, Interpreter};

use super::stop::stop_flag;
use crate::{
    failure::{BAD, UNFIT, USAGE, check_folder, interrupted, unfit, usage},
    output,
    progress::bar,
};
use passnet_flags::ExtractArgs;

/// Captures models in a Python process, then reads every sample back. A model whose sample cannot be read does not count as captured.
pub(crate) fn run(args: &ExtractArgs) -> Result<ExitCode> {
    match (&args.suite, &args.out) {
        (Some(suite), _) => capture_suite(suite, args),
        (None, Some(out)) => capture(args, out),
        (None, None) => Err(usage("name a directory with --out, or a suite with --suite")),
    }
}

/// Captures the models of a suite into the cache, and makes a suite of those that could be captured.
fn capture_suite(suite: &Path, args: &ExtractArgs) -> Result<ExitCode> {
    let definition = Definition::read(suite, cache_directory().as_deref())?.ok_or_else(|| {
        usage(format!(
            "{}: there is no {DEFINITION}; name a suite that has one, such as suites/whole-models",
            suite.display()
        ))
    })?;
    let models = vec![format!("@{}", definition.list().display())];
    fs::create_dir_all(definition.folder())?;
    let code = capture(&ExtractArgs { models, ..args.clone() }, definition.folder())?;
    // Also after failures: the suite consists of the models that could be captured here.
    let graphs = definition.finish()?;
    eprintln!("{} in {}", counted(graphs, "graph"), definition.folder().display());
    Ok(code)
}

fn capture(args: &ExtractArgs, out: &Path) -> Result<ExitCode> {
    check_folder(out)?;
    let report = report_format(args)?;
    let settings = CaptureSettings { seed: args.seed, max_parameters: args.max_parameters };
    let mut ledger = CaptureLedger::open(out, settings).map_err(|error| match error {
        error @ CaptureError::Busy(_) => unfit(error.to_string()),
        error => error.into(),
    })?;
    ledger.remarks.drain(..).for_each(|remark| tracing::warn!("{remark}"));
    let stop = stop_flag()?;
    let mut child = start(args, out, &ledger)?;
    let summary = follow_capture(&mut child, out, &mut ledger, &stop);
    if summary.is_err() {
        // After an error here, results would not be recorded, so the capture must stop.
        let _ = child.kill();
    }
    let status = child.wait()?;
    let summary = summary?;
    if stop.load(Ordering::Relaxed) {
        return interrupted();
    }
    let Some(summary) = summary else {
        return Err(unfit(format!("the capture ended with {status} before its first model; see above")));
    };
    // 1 means that models failed, which the summary lists. Any other code is a failure of the capture itself.
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(unfit(format!(
            "the capture ended with {status} before its last model; run the same command again to continue"
        )));
    }
    if let Some((path, format)) = report {
        fs::write(path, summary.left_out(format))?;
        eprintln!("models that were left out: {}", path.display());
    }
    if args.json {
        output::json(&summary)?;
    } else {
        output::report(&summary.text_report())?;
        eprintln!("ledger: {}", out.join(LEDGER).display());
    }
    Ok(match () {
        () if summary.failed == 0 => ExitCode::SUCCESS,
        () if summary.all_are(&["missing_package"]) => ExitCode::from(UNFIT),
        () if summary.all_are(&["unknown_model", "missing_package"]) => ExitCode::from(USAGE),
        () => ExitCode::from(BAD),
    })
}

/// Returns the file for the list of models that are left out, and its format.
fn report_format(args: &ExtractArgs) -> Result<Option<(&Path, LeftOutFormat)>> {
    let Some(path) = args.report.as_deref() else { return Ok(None) };
    match LeftOutFormat::of(path) {
        Some(format) => Ok(Some((path, format))),
        None => Err(usage(format!("{}: name a file that ends in .md or .csv", path.display()))),
    }
}

fn start(args: &ExtractArgs, out: &Path, ledger: &CaptureLedger) -> Result<Child> {
    let interpreter = Interpreter::find();
    let mut done: Vec<&str> = ledger.done(args.retry).collect();
    done.sort_unstable();
    let options = CaptureOptions {
        models: &args.models,
        out,
        done: &done,
        verify: args.verify,
        seed: args.seed,
        timeout: args.timeout,
        memory_gib: args.memory_gib,
        max_parameters: args.max_parameters,
        jobs: args.jobs,
        sample: args.sample,
    };
    interpreter
        .start_capture(&options)
        .map_err(|error| unfit(format!("cannot start {}: {error}; set PASSNET_PYTHON", interpreter.python.display())))
}

/// Records the results of the capture and shows its progress.
fn follow_capture(
    child: &mut Child,
    out: &Path,
    ledger: &mut CaptureLedger,
    stop: &AtomicBool,
) -> Result<Option<Summary>> {
    let lines = BufReader::new(child.stdout.take().context("the standard output is piped")?);
    let (bar, mut failed) = (bar(0, "{bar:24} {pos}/{len}  {elapsed} elapsed, {eta} left  {wide_msg}"), 0);
    let summary = follow(lines, out, ledger, stop, &mut |step| match step {
        CaptureProgress::Planned(models) => bar.set_length(models as u64),
        CaptureProgress::Done(model) => {
            failed += usize::from(!model.is_ok());
            bar.inc(1);
            bar.set_message(format!("{failed} failed; {}", model.spec));
            tracing::info!("{}: {} {}", model.spec, model.status, model.reason);
        }
    });
    bar.finish_and_clear();
    Ok(summary?)
}
