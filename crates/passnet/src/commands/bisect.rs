//! `passnet bisect`: the smallest failing parts of failing graphs, as samples.

use std::{collections::BTreeSet, process::ExitCode, sync::atomic::AtomicBool};

use anyhow::{Context as _, Result, anyhow};
use passnet_dataset::open_suite;
use passnet_eval::smallest_part;
use passnet_record::{AuthorSpec, GraphId, TextTable, counted};
use passnet_run::{SampleFolder, archive::load_run};

use super::{
    authors::{check_author, create, write_submission},
    referee,
};
use crate::{
    failure::{exit_code, usage},
    output,
};
use passnet_flags::BisectArgs;

/// Bisects each graph that fails. Exits with 1 if one does.
pub(crate) fn run(args: &BisectArgs) -> Result<ExitCode> {
    let (author, failed) = subject(args)?;
    check_author(&author, args.measure.device)?;
    let suite = open_suite(&args.suite, &args.selection.selection())?;
    // One evaluation at a time: the next part depends on the verdict on this one.
    let referee = referee::start_for(&suite.record, &args.measure, Some(1))?;
    let scratch = tempfile::tempdir()?;
    let submission =
        write_submission(create(&author)?.as_mut(), &suite, &referee, scratch.path(), &AtomicBool::new(false))?;
    let mut rows = TextTable::new(&["graph", "status", "of", "nodes", "evaluations", "minimal"], 2);
    let mut found = 0;
    for id in suite.graphs().filter(|id| failed.as_ref().is_none_or(|failed| failed.contains(id))) {
        let Some(candidate) = submission.candidates.get(&id.task) else { continue };
        let name = format!("{}/{}", id.task, id.graph);
        let folder = SampleFolder::read(&suite.sample_dir(&id), id);
        let sample = folder.sample.map_err(|message| anyhow!("{name}: {message}"))?;
        let Some(part) = smallest_part(&referee, &sample, candidate, args.max_evaluations).context(name.clone())?
        else {
            eprintln!("{name}: does not fail");
            continue;
        };
        found += 1;
        part.save(&args.out.join(&name), &author)?;
        rows.push([
            name,
            part.verdict.status.name().to_owned(),
            part.whole.to_string(),
            part.sample.graph().num_nodes().to_string(),
            part.evaluations.to_string(),
            if part.is_minimal { "yes" } else { "no" }.to_owned(),
        ]);
    }
    if found == 0 {
        output::text("no graph fails")?;
        return Ok(ExitCode::SUCCESS);
    }
    output::table(&rows)?;
    eprintln!("{} in {}", counted(found, "failing part"), args.out.display());
    // The command found a failure: code 1, as for `eval`.
    exit_code(false)
}

/// Returns the author, and the graphs that failed in the run, if one is given.
fn subject(args: &BisectArgs) -> Result<(AuthorSpec, Option<BTreeSet<GraphId>>)> {
    match (&args.run, &args.author) {
        (Some(run), _) => {
            let run = load_run(run)?;
            let failed = run.verdicts.iter().filter(|verdict| verdict.status.is_failure());
            Ok((run.header.author, Some(failed.map(|verdict| verdict.id.clone()).collect())))
        }
        (None, Some(author)) => Ok((author.clone(), None)),
        (None, None) => Err(usage("name an author with --author, or a run with --run")),
    }
}
