//! `passnet optimize`: makes one model faster, and prints the gain of each step.
//!
//! A Python process compiles and times the model; this module prints the results. [`llm`] lets a language model write passes first.

mod llm;
mod process;

use std::{path::Path, process::ExitCode};

use anyhow::{Context, Result};
use passnet_record::services::Optimized;
use passnet_services::{Interpreter, OptimizeOptions, cpp_compiler};

use self::{
    llm::Work,
    process::{failed, finished, options, passes},
};
use super::stop::resumable;
use crate::{
    failure::{exit_code, unfit},
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
