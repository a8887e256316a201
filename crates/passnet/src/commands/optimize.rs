//! `passnet optimize`: makes one model faster, and prints the gain of each step.
//!
//! A Python process compiles and times the model; this module prints the results. [`llm`] lets a language model write passes first.

mod llm;

use std::{
    io,
    path::{Path, PathBuf},
    process::{ExitCode, Output},
};

use anyhow::{Context, Result};
use passnet_record::services::Optimized;
use passnet_services::{Interpreter, OptimizeOptions, cpp_compiler};

use self::llm::Work;
use super::stop::resumable;
use crate::{
    failure::{UNFIT, USAGE, exit_code, unfit},
    output,
};
use passnet_flags::{OptimizeArgs, OptimizeAuthor};

/// Compiles a model, writes its pass library, and prints times against eager mode and `torch.compile`.
pub(crate) fn run(args: &OptimizeArgs) -> Result<ExitCode> {
    if args.device == "cpu"
        && let Err(problem) = cpp_compiler()
    {
        return Err(unfit(format!("passes for the CPU have C++ kernels, and {problem}")));
    }
    match &args.author {
        OptimizeAuthor::Model(model) => resumable(|stop| {
            let authored = match llm::write(args, model, stop)? {
                Work::Done(authored) => authored,
                Work::Failed(code) => return Ok(code),
            };
            compile(args, Some(&authored))
        }),
        _ => compile(args, None),
    }
}

/// Compiles the model with all passes. `authored` describes those of a language model.
fn compile(args: &OptimizeArgs, authored: Option<&Path>) -> Result<ExitCode> {
    let (interpreter, passes) = (Interpreter::find(), passes(args));
    let options = OptimizeOptions { authored, ..options(args, &passes) };
    let finished = finished(&interpreter, interpreter.optimize(&options))?;
    if let Some(code) = failed(&finished)? {
        return Ok(code);
    }
    let text = String::from_utf8_lossy(&finished.stdout);
    if args.json {
        output::text(text.trim_end())?;
    } else {
        let result: Optimized = serde_json::from_str(&text).context("the result cannot be read")?;
        if let Some(authored) = result.authored.as_ref().filter(|authored| !authored.tasks.is_empty()) {
            output::table(&authored.table())?;
        }
        output::text(&format!("{result} to {}", args.out.display()))?;
    }
    exit_code(finished.status.success())
}

/// Returns the pass directories that are applied before the author.
fn passes(args: &OptimizeArgs) -> Vec<PathBuf> {
    let own = if let OptimizeAuthor::Directory(path) = &args.author { Some(path) } else { None };
    args.passes.iter().chain(own).cloned().collect()
}

fn options<'a>(args: &'a OptimizeArgs, passes: &'a [PathBuf]) -> OptimizeOptions<'a> {
    OptimizeOptions {
        model: &args.model,
        out: &args.out,
        device: &args.device,
        passes,
        author: if args.author == OptimizeAuthor::None { "none" } else { "fuse" },
        authored: None,
        report: args.report.as_deref(),
        quiet: !tracing::enabled!(tracing::Level::WARN),
        modes: &args.mode,
    }
}

/// Returns the output of a process of `passnet.optimize`.
fn finished(interpreter: &Interpreter, output: io::Result<Output>) -> Result<Output> {
    let python = interpreter.python.display();
    output.map_err(|error| unfit(format!("cannot start {python}: {error}; set PASSNET_PYTHON")))
}

/// Returns the exit code for a process of `passnet.optimize` that has printed an error; `None` if it has a result.
fn failed(finished: &Output) -> Result<Option<ExitCode>> {
    match finished.status.code() {
        Some(0 | 1) if !finished.stdout.is_empty() => Ok(None),
        Some(code @ (2 | 3)) => Ok(Some(ExitCode::from(if code == 2 { USAGE } else { UNFIT }))),
        _ => {
            let status = finished.status;
            Err(unfit(format!("the process that compiles the model ended with {status}; see above")))
        }
    }
}
