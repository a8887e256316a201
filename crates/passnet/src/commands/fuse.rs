//! `passnet fuse`: what the built-in author writes.

use std::process::ExitCode;

use anyhow::{Context, Result};
use fs_err as fs;
use passnet_eval::{
    Target, TypedSuite,
    python::Interpreter,
    suite::{Selection, Suite},
};

use super::dataset::suite_folder;
use crate::{
    args::{FuseArgs, FuseDevice},
    output,
};

/// Writes one pass directory per task and prints what is in each, or says what would be.
pub(crate) fn run(args: &FuseArgs) -> Result<ExitCode> {
    let suite =
        Suite::load(&suite_folder(&args.task)?, &Selection { patterns: args.filter.clone(), ..Selection::default() })?;
    let target = match args.device {
        FuseDevice::Cpu => Target::Cpu,
        FuseDevice::Cuda => Target::Cuda,
    };
    let typed = TypedSuite::of(&Interpreter::find(), &suite, target)?;
    let mut summary = String::new();
    if args.explain {
        for (task, plan) in typed.plans() {
            summary.push_str(&format!("{task}\n{plan}\n"));
        }
    }
    if let Some(out) = &args.out {
        for (task, directory) in typed.passes() {
            let place = out.join(task);
            fs::create_dir_all(&place)?;
            for (name, bytes) in directory.files() {
                fs::write(place.join(name), bytes)?;
            }
            let count = directory.files().iter().filter(|(name, _)| name.ends_with(".py")).count();
            summary.push_str(&format!("{}: {count} passes\n", place.display()));
        }
    }
    output::text(&summary).context("cannot print")?;
    Ok(ExitCode::SUCCESS)
}
