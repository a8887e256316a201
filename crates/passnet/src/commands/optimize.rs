//! `passnet optimize`: makes one model faster, and prints the gain of each step.
//!
//! A Python process compiles and times the model; this module prints the results.

use std::process::ExitCode;

use anyhow::{Context, Result};
use passnet_record::services::Optimized;
use passnet_services::{Interpreter, OptimizeOptions, cpp_compiler};

use crate::{
    failure::{UNFIT, USAGE, exit_code, unfit},
    output,
};
use passnet_flags::OptimizeArgs;

/// Compiles a model, writes its pass library, and prints times against eager mode and `torch.compile`.
pub(crate) fn run(args: &OptimizeArgs) -> Result<ExitCode> {
    let options = OptimizeOptions {
        model: &args.model,
        out: &args.out,
        device: &args.device,
        passes: &args.passes,
        report: args.report.as_deref(),
        quiet: !tracing::enabled!(tracing::Level::WARN),
        modes: &args.mode,
    };
    if args.device == "cpu"
        && let Err(problem) = cpp_compiler()
    {
        return Err(unfit(format!("the built-in author writes C++ kernels for the CPU, and {problem}")));
    }
    let interpreter = Interpreter::find();
    let finished = interpreter.optimize(&options).map_err(|error| {
        unfit(format!("cannot start {}: {error}; set PASSNET_PYTHON", interpreter.python.display()))
    })?;
    match finished.status.code() {
        Some(0 | 1) if !finished.stdout.is_empty() => {}
        // The process has printed its error.
        Some(code @ (2 | 3)) => return Ok(ExitCode::from(if code == 2 { USAGE } else { UNFIT })),
        _ => {
            let status = finished.status;
            return Err(unfit(format!("the process that compiles the model ended with {status}; see above")));
        }
    }
    let text = String::from_utf8_lossy(&finished.stdout);
    if args.json {
        output::text(text.trim_end())?;
    } else {
        let result: Optimized = serde_json::from_str(&text).context("the result cannot be read")?;
        output::text(&format!("{result} to {}", args.out.display()))?;
    }
    exit_code(finished.status.success())
}
