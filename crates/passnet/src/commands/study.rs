//! `passnet study`: compilers against eager over every subgraph of a suite.

use std::{path::PathBuf, process::ExitCode, sync::atomic::AtomicBool};

use anyhow::{Context, Result};
use fs_err as fs;
use passnet_dataset::open_suite;
use passnet_eval::run_suite;
use passnet_run::{Suite, archive::load_run, plain_name};
use passnet_web::study::{CompilerStudy, study_markdown, study_page};

use super::{
    authors::{create, write_submission},
    referee,
    stop::resumable,
};
use crate::{
    failure::{check_folder, exit_code},
    output,
    progress::ProgressLine,
};
use passnet_flags::StudyArgs;

/// Makes the missing runs, then writes `study.md` and `study.html` into the folder.
pub(crate) fn run(args: &StudyArgs) -> Result<ExitCode> {
    check_folder(&args.out)?;
    let Some(suite) = &args.suite else { return write_study(args, &args.from) };
    let suite = open_suite(suite, &args.selection.selection())?;
    resumable(|stop| match run_compilers(args, &suite, stop)? {
        Some(runs) => write_study(args, &runs),
        None => exit_code(false),
    })
}

/// Compares the runs, and writes the comparison into the folder.
fn write_study(args: &StudyArgs, runs: &[PathBuf]) -> Result<ExitCode> {
    let compilers = runs.iter().map(|run| Ok(CompilerStudy::of(&load_run(run)?))).collect::<Result<Vec<_>>>()?;
    fs::create_dir_all(&args.out)?;
    let text = study_markdown(&compilers);
    fs::write(args.out.join("study.md"), format!("# Compilers against eager\n\n{text}"))?;
    fs::write(args.out.join("study.html"), study_page(&compilers))?;
    output::text(text.trim_end())?;
    eprintln!("wrote {} and study.html next to it", args.out.join("study.md").display());
    Ok(ExitCode::SUCCESS)
}

/// One run per compiler; `None` where it was interrupted.
fn run_compilers(args: &StudyArgs, suite: &Suite, stop: &AtomicBool) -> Result<Option<Vec<PathBuf>>> {
    let referee = referee::start(&args.measure, args.jobs)?;
    let mut runs = Vec::new();
    for author in &args.compilers {
        let directory = args.out.join("runs").join(plain_name(&author.to_string()));
        eprintln!("{author}:");
        let line = ProgressLine::new(suite.graphs().count());
        let submission = write_submission(create(author)?.as_mut(), suite, &referee, &directory, stop)?;
        let outcome = run_suite(&referee, suite, &submission, &directory, stop, &|event| line.show(&event));
        line.finish();
        if !outcome.with_context(|| format!("run in {}", directory.display()))?.complete {
            return Ok(None);
        }
        runs.push(directory);
    }
    Ok(Some(runs))
}
