//! The Python process of `passnet optimize`: its options, and how it ended.

use std::{
    io,
    path::PathBuf,
    process::{ExitCode, Output},
};

use anyhow::Result;
use passnet_flags::{OptimizeArgs, OptimizeAuthor};
use passnet_services::{Interpreter, OptimizeOptions};

use crate::failure::{UNFIT, USAGE, unfit};

/// Returns the pass directories that are applied before the author.
pub(super) fn passes(args: &OptimizeArgs) -> Vec<PathBuf> {
    let own = if let OptimizeAuthor::Directory(path) = &args.author { Some(path) } else { None };
    args.passes.iter().chain(own).cloned().collect()
}

/// Returns the options of a process that uses the author of the flags.
pub(super) fn options<'a>(args: &'a OptimizeArgs, passes: &'a [PathBuf]) -> OptimizeOptions<'a> {
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
pub(super) fn finished(interpreter: &Interpreter, output: io::Result<Output>) -> Result<Output> {
    let python = interpreter.python.display();
    output.map_err(|error| unfit(format!("cannot start {python}: {error}; set PASSNET_PYTHON")))
}

/// Returns the exit code for a process of `passnet.optimize` that has printed an error; `None` if it has a result.
pub(super) fn failed(finished: &Output) -> Result<Option<ExitCode>> {
    match finished.status.code() {
        Some(0 | 1) if !finished.stdout.is_empty() => Ok(None),
        Some(code @ (2 | 3)) => Ok(Some(ExitCode::from(if code == 2 { USAGE } else { UNFIT }))),
        _ => {
            let status = finished.status;
            Err(unfit(format!("the process that compiles the model ended with {status}; see above")))
        }
    }
}
