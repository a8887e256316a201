//! `passnet extract`: models to samples.
//!
//! A Python process captures the models. This module reads the samples back, keeps the ledger and reports progress.

mod ledger;
mod summary;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ExitCode, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::{Context, Result};
use fs_err as fs;
use indicatif::{ProgressBar, ProgressStyle};
use passnet_dataset::definition::{DEFINITION, Definition};
use passnet_graphnet::{graph_module, sample::read_sample_dir};
use passnet_run::cache_directory;
use passnet_services::Interpreter;
use serde::Deserialize;

use self::{
    ledger::{LEDGER, Ledger, Model, Settings},
    summary::Summary,
};
use super::stop::stop_flag;
use crate::{
    args::ExtractArgs,
    failure::{BAD, UNFIT, USAGE, unfit, usage},
    output,
};

/// A line of the capturing process.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    /// Comes first: the number of models, and those that are passed over because they are done.
    Plan {
        models: usize,
        skipped: Vec<String>,
    },
    Model(Box<Model>),
}

/// Captures models in a Python process, then reads every sample back: what cannot be read was not captured.
pub(crate) fn run(args: &ExtractArgs) -> Result<ExitCode> {
    match (&args.suite, &args.out) {
        (Some(suite), _) => capture_suite(suite, args),
        (None, Some(out)) => capture(args, out),
        (None, None) => Err(usage("name a directory with --out, or a suite with --suite")),
    }
}

/// Captures the models of a suite into the cache, and makes a suite of those that could be captured.
fn capture_suite(suite: &Path, args: &ExtractArgs) -> Result<ExitCode> {
    let definition = Definition::read(suite, cache_directory().as_deref())?
        .ok_or_else(|| usage(format!("{}: there is no {DEFINITION}", suite.display())))?;
    let models = vec![format!("@{}", definition.list().display())];
    fs::create_dir_all(definition.folder())?;
    let code = capture(&ExtractArgs { models, ..args.clone() }, definition.folder())?;
    let graphs = definition.finish()?;
    eprintln!("{} in {}", output::counted(graphs, "graph"), definition.folder().display());
    Ok(code)
}

fn capture(args: &ExtractArgs, out: &Path) -> Result<ExitCode> {
    let settings = Settings { seed: args.seed, max_parameters: args.max_parameters };
    let mut ledger = Ledger::open(out, settings)?;
    let stop = stop_flag()?;
    let mut child = start(args, out, &ledger)?;
    let models = follow(&mut child, out, &mut ledger, &stop);
    if models.is_err() {
        // After an error here no one records results any more, so the capture must stop.
        let _ = child.kill();
    }
    let status = child.wait()?;
    let (summary, planned) = models?;
    if stop.load(Ordering::Relaxed) {
        eprintln!("interrupted; run the same command again to continue");
        return Ok(ExitCode::from(BAD));
    }
    if !planned {
        return Err(unfit(format!("the capture ended with {status} before its first model; see above")));
    }
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(unfit(format!(
            "the capture ended with {status} before its last model; run the same command again to continue"
        )));
    }
    if args.json {
        output::json(&summary)?;
    } else {
        summary.print()?;
        eprintln!("ledger: {}", out.join(LEDGER).display());
    }
    Ok(match () {
        () if summary.failed() == 0 => ExitCode::SUCCESS,
        () if summary.all_are(&["missing_package"]) => ExitCode::from(UNFIT),
        () if summary.all_are(&["unknown_model", "missing_package"]) => ExitCode::from(USAGE),
        () => ExitCode::from(BAD),
    })
}

fn start(args: &ExtractArgs, out: &Path, ledger: &Ledger) -> Result<Child> {
    let interpreter = Interpreter::find();
    let mut capture = interpreter.module("passnet.extract");
    capture.args(&args.models).arg("--out").arg(out).arg("--skip");
    capture.args(["--verify", args.verify.name(), "--seed", &args.seed.to_string()]);
    capture.args(["--timeout", &args.timeout.to_string(), "--memory-gib", &args.memory_gib.to_string()]);
    capture.args(["--max-parameters", &args.max_parameters.to_string()]);
    for (flag, value) in [("--jobs", args.jobs), ("--sample", args.sample)] {
        if let Some(value) = value {
            capture.args([flag, &value.to_string()]);
        }
    }
    let mut child = capture.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| {
        unfit(format!("cannot start {}: {error}; set PASSNET_PYTHON", interpreter.python.display()))
    })?;
    let mut done: Vec<&str> = ledger.done(args.retry).collect();
    done.sort_unstable();
    if let Some(mut stdin) = child.stdin.take() {
        // A process that ended early says why itself.
        let _ = stdin.write_all(done.join("\n").as_bytes());
    }
    Ok(child)
}

/// Reads the lines of the capture to their end, or until `stop`. Also says whether there was a plan.
fn follow(child: &mut Child, out: &Path, ledger: &mut Ledger, stop: &AtomicBool) -> Result<(Summary, bool)> {
    let lines = BufReader::new(child.stdout.take().context("the standard output is piped")?).lines();
    let bar = progress_bar();
    let (mut models, mut reused, mut planned, mut failed) = (Vec::new(), 0, false, 0);
    for line in lines {
        let line = line?;
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match serde_json::from_str(&line).with_context(|| format!("the capture wrote `{line}`"))? {
            Event::Plan { models: count, skipped } => {
                (planned, reused) = (true, skipped.len());
                bar.set_length((count - reused) as u64);
                models.extend(skipped.iter().filter_map(|spec| ledger.get(spec).cloned()));
            }
            Event::Model(model) => {
                let model = checked(*model, out);
                failed += usize::from(!model.is_ok());
                bar.inc(1);
                bar.set_message(format!("{failed} failed; {}", model.spec));
                tracing::info!("{}: {} {}", model.spec, model.status, model.reason);
                // A name that stands for no model is asked for again each time.
                if model.status != "unknown_model" {
                    ledger.add(model.clone())?;
                }
                models.push(model);
            }
        }
    }
    bar.finish_and_clear();
    Ok((Summary::new(models, reused), planned))
}

fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let template = "{bar:24} {pos}/{len}  {elapsed} elapsed, {eta} left  {wide_msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// The model, failed if one of its samples cannot be read, or reads otherwise once it is printed.
fn checked(model: Model, out: &Path) -> Model {
    let fault = model.folders.iter().find_map(|folder| check_sample(&out.join(folder)).err());
    match fault {
        Some(reason) => Model { status: "read_failed".to_owned(), reason, ..model },
        None => model,
    }
}

fn check_sample(folder: &Path) -> Result<(), String> {
    let sample = read_sample_dir(folder).map_err(|error| error.to_string())?;
    let path = folder.join("model.py").display().to_string();
    let again = graph_module::parse(&path, &graph_module::print(&sample.graph)).map_err(|error| error.to_string())?;
    if again != sample.graph {
        return Err(format!("{path}: the graph reads otherwise once it is printed; please report it"));
    }
    Ok(())
}
