//! `passnet bench run`: one author over a suite, resumable.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result};
use passnet_dataset::open_suite;
use passnet_eval::{Submission, run_suite};
use passnet_record::{AuthorSpec, Device, RunMetadata, counted};
use passnet_run::{RunLog, StoreError, Suite, archive::score_run, plain_name, remove_run};

use super::{
    authors::{check_author_of_bench, create_for_bench, label, write_submission},
    referee,
    report::print_leaderboard,
    stop::resumable,
};
use crate::{
    failure::{check_folder, exit_code, usage},
    progress::ProgressLine,
};
use passnet_flags::BenchRunArgs;

/// Evaluates, or continues where an earlier call ended, then prints the run's line of the leaderboard.
pub(crate) fn run(args: &BenchRunArgs) -> Result<ExitCode> {
    // A wrong author or device is reported before a suite is unpacked or a process starts.
    check_author_of_bench(&args.author, args.measure.device)?;
    let metadata = args.metadata.metadata().map_err(|error| usage(error.to_string()))?;
    let suite = open_suite(&args.suite, &args.selection.selection())?;
    let directory = args.out.clone().unwrap_or_else(|| run_directory(&suite, &args.author, args.measure.device));
    check_folder(&directory)?;
    if args.fresh {
        remove_run(&directory)?;
    }
    refuse_run_of_another_author(&directory, &args.author)?;
    // Before this line an interrupt ends the process, because there are no results to keep.
    resumable(|stop| evaluate(args, &suite, &directory, metadata, stop))
}

/// Writes and evaluates the passes; only a part of them, or an error, if `stop` becomes true.
fn evaluate(
    args: &BenchRunArgs,
    suite: &Suite,
    directory: &Path,
    metadata: RunMetadata,
    stop: &AtomicBool,
) -> Result<ExitCode> {
    let referee = referee::start_for(&suite.record, &args.measure, args.jobs)?;
    let mut author = create_for_bench(args, suite.record.tasks.len())?;
    let submission = write_submission(author.as_mut(), suite, &referee, directory, stop)?;
    // Dropped here, because the author owns a progress line and, for language models, connections.
    drop(author);
    let writing = submission.metadata.writing;
    let submission = Submission { metadata: RunMetadata { writing, ..metadata }, ..submission };
    let line = ProgressLine::new(suite.graphs().count());
    let outcome = run_suite(&referee, suite, &submission, directory, stop, &|event| line.show(&event));
    line.finish();
    let outcome = outcome.with_context(|| format!("run in {}", directory.display()))?;
    if !outcome.verdicts.is_empty() {
        print_leaderboard(&[score_run(outcome.header, outcome.verdicts)?])?;
    }
    if outcome.complete {
        eprintln!("run complete in {} ({} reused)", directory.display(), counted(outcome.reused, "verdict"));
    }
    exit_code(outcome.complete)
}

/// Fails if the directory has a run of another author: passes may take minutes to write, and only then would the run's header differ.
fn refuse_run_of_another_author(directory: &Path, author: &AuthorSpec) -> Result<()> {
    // A damaged log is reported where it is opened.
    let Ok(log) = RunLog::read(directory) else { return Ok(()) };
    if log.header.author == *author {
        return Ok(());
    }
    let (path, before, now) = (directory.to_owned(), log.header.author.to_string(), author.to_string());
    Err(usage(StoreError::Mismatch { path, what: "author".to_owned(), before, now }.to_string()))
}

/// Returns `runs/SUITE-AUTHOR-DEVICE`, without special characters.
pub(super) fn run_directory(suite: &Suite, author: &AuthorSpec, device: Device) -> PathBuf {
    Path::new("runs").join(plain_name(&format!("{}-{}-{device}", suite.record.name, label(author))))
}
