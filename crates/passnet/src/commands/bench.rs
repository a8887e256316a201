//! `passnet bench run`: one author over a suite, resumable.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};
use passnet_eval::{
    PassDirectory, Referee, TypedSuite,
    run::{Progress, RunOutcome, run_suite, run_written},
    store::remove_run,
    suite::Suite,
    target_of,
};
use passnet_record::AuthorSpec;

use super::{agent, dataset::suite_folder, measure, report::print_leaderboard, stop::stop_flag, tuning::tune};
use crate::{args::BenchRunArgs, failure::BAD, library::score_run, progress::ProgressLine};

/// Evaluates, or goes on where an earlier call ended, then prints the run's line of the leaderboard.
pub(crate) fn run(args: &BenchRunArgs) -> Result<ExitCode> {
    let suite = Suite::load(&suite_folder(&args.suite)?, &args.selection.selection())?;
    let directory = args.out.clone().unwrap_or_else(|| default_directory(args, &suite));
    if args.fresh {
        remove_run(&directory)?;
    }
    let stop = stop_flag()?;
    let outcome = match &args.author {
        AuthorSpec::Llm { model } => run_model(args, model, &suite, &directory, &stop)?,
        _ => {
            let referee = measure::referee(&args.measure, args.jobs)?;
            if let (AuthorSpec::Fuse, Some(budget)) = (&args.author, args.tune_seconds) {
                let typed = TypedSuite::of(&referee.interpreter(), &suite, target_of(&referee))?;
                tune(&referee, &typed, budget, &stop)?;
            }
            let line = ProgressLine::new(suite.graphs().count());
            let outcome = run_suite(&referee, &suite, &args.author, &directory, &stop, &|event| line.show(&event));
            line.finish();
            outcome.with_context(|| format!("run in {}", directory.display()))?
        }
    };
    if !outcome.verdicts.is_empty() {
        print_leaderboard(&[score_run(outcome.header, outcome.verdicts)?])?;
    }
    if outcome.complete {
        eprintln!("run complete in {} ({} verdicts reused)", directory.display(), outcome.reused);
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("interrupted; the same command goes on from here");
    Ok(ExitCode::from(BAD))
}

/// Lets a model write the passes, in `agent/` below the run, then has them evaluated like those of any author.
fn run_model(
    args: &BenchRunArgs,
    model: &str,
    suite: &Suite,
    directory: &Path,
    stop: &AtomicBool,
) -> Result<RunOutcome> {
    let client = agent::client(model, &args.model)?;
    let options = agent::run_options(&args.attempt, args.agent_jobs, args.measure.seed.unwrap_or(0))?;
    let referee: Referee = measure::referee(&args.measure, args.jobs)?;
    let place = directory.join("agent");
    let (evaluator, outcome) = agent::attempt_suite(referee, suite, &client, &options, &place, stop)?;
    if !outcome.complete {
        let why = outcome.suspended.first().map(|suspended| format!("{}: {}", suspended.task, suspended.why));
        let why = outcome.halted.or(why).unwrap_or_else(|| "interrupted".to_owned());
        bail!("the model has not finished all tasks ({why}); the same command goes on from here");
    }
    let mut written = BTreeMap::new();
    for task in &suite.record.tasks {
        let passes = place.join("passes").join(&task.id);
        if passes.is_dir() {
            written.insert(task.id.clone(), PassDirectory::read(&passes)?);
        }
    }
    let line = ProgressLine::new(suite.graphs().count());
    let show = |event: Progress<'_>| line.show(&event);
    let outcome = run_written(evaluator.referee(), suite, &args.author, written, directory, stop, &show);
    line.finish();
    outcome.with_context(|| format!("run in {}", directory.display()))
}

/// `runs/SUITE-AUTHOR-DEVICE`, with nothing in the name that a path could trip over.
fn default_directory(args: &BenchRunArgs, suite: &Suite) -> PathBuf {
    let author = match args.author {
        AuthorSpec::Dir { ref path } => {
            Path::new(path).file_name().map_or_else(|| "passes".into(), |name| name.to_string_lossy().into_owned())
        }
        ref other => other.to_string(),
    };
    let name = format!("{}-{author}-{}", suite.record.name, args.measure.device);
    let name: String = name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
    Path::new("runs").join(name)
}
