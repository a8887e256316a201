//! `passnet fuse`: runs the built-in author.

use std::{collections::BTreeMap, process::ExitCode};

use anyhow::{Context, Result};
use passnet_author::{
    Choices, Target,
    fuse::{Confirmer, Database, TypedSuite, known_choices},
    write_pass_directory,
};
use passnet_dataset::open_suite;
use passnet_eval::{Referee, settings};
use passnet_record::{Device, PassDirectory, counted};
use passnet_run::Selection;
use passnet_services::Interpreter;

use super::{referee, stop::stop_flag, tuning::tune};
use crate::{failure::check_folder, output};
use passnet_flags::FuseArgs;

/// Writes one pass directory per task and prints its contents, or only explains the plan.
pub(crate) fn run(args: &FuseArgs) -> Result<ExitCode> {
    args.out.as_deref().map_or(Ok(()), check_folder)?;
    let suite = open_suite(&args.task, &Selection { patterns: args.filter.clone(), ..Selection::default() })?;
    let typed = TypedSuite::of(&Interpreter::find(), &suite, args.device)?;
    let choices = choices(args, &typed)?;
    let mut summary = String::new();
    if args.json {
        output::json(&typed.costs()).context("cannot print")?;
    } else if args.explain {
        for (task, plan) in typed.plans(&choices) {
            summary.push_str(&format!("{task}\n{plan}\n"));
        }
    }
    if let Some(out) = &args.out {
        for (task, directory) in passes(args, &typed, &choices)? {
            let place = out.join(task);
            let names = write_pass_directory(&place, &directory)?;
            summary.push_str(&format!("{}: {}\n", place.display(), counted(names.len(), "pass")));
        }
    }
    // The summary would be a second document.
    if !args.json {
        output::text(summary.trim_end()).context("cannot print")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the passes of each task; without slower ones, if the options ask for this.
fn passes(args: &FuseArgs, typed: &TypedSuite, choices: &Choices) -> Result<BTreeMap<String, PassDirectory>> {
    if !args.confirm {
        return Ok(typed.passes(choices));
    }
    let referee = start_referee(args)?;
    let progress = |line: &str| eprintln!("{line}");
    let (passes, confirmed) = Confirmer::new(&referee)?.passes(typed, choices, &*stop_flag()?, &progress);
    eprintln!("{confirmed}");
    Ok(passes)
}

fn start_referee(args: &FuseArgs) -> Result<Referee> {
    let device = match args.device {
        Target::Cpu => Device::Cpu,
        Target::Cuda => Device::Cuda { index: 0 },
    };
    referee::start_with(settings::sound(device), None)
}

/// Configurations that were measured on this machine, now or before.
fn choices(args: &FuseArgs, typed: &TypedSuite) -> Result<Choices> {
    if args.tune_seconds.is_none() && !passnet_run::cache_directory().is_some_and(|cache| Database::has_entries(&cache))
    {
        return Ok(Choices::new());
    }
    let referee = start_referee(args)?;
    if let Some(budget) = args.tune_seconds {
        tune(&referee, typed, budget, &*stop_flag()?)?;
    }
    Ok(known_choices(&referee, typed))
}
