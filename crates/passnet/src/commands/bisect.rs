//! `passnet bisect`: the smallest failing parts of failing graphs, as samples.

use std::{collections::BTreeMap, process::ExitCode, sync::atomic::AtomicBool};

use anyhow::{Context as _, Result, anyhow};
use passnet_dataset::open_suite;
use passnet_eval::{Referee, smallest_part};
use passnet_record::{AuthorSpec, GraphId, RunSettings, TextTable, counted};
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
    let Subject { author, failed } = subject(args)?;
    check_author(&author, args.measure.device)?;
    let suite = open_suite(&args.suite, &args.selection.selection())?;
    // One evaluation at a time, because the next part depends on the verdict on the current part.
    let referee = referee::start_for(&suite.record, &args.measure, Some(1))?;
    let scratch = tempfile::tempdir()?;
    let submission =
        write_submission(create(&author)?.as_mut(), &suite, &referee, scratch.path(), &AtomicBool::new(false))?;
    let mut rows = TextTable::new(&["graph", "status", "of", "nodes", "evaluations", "minimal"], 2);
    let mut found = 0;
    for id in suite.graphs().filter(|id| failed.as_ref().is_none_or(|failed| failed.graphs.contains_key(id))) {
        let Some(candidate) = submission.candidates.get(&id.task) else { continue };
        let name = format!("{}/{}", id.task, id.graph);
        let again = failed.as_ref().map(|failed| failed.referee(&referee, &id)).transpose()?;
        let folder = SampleFolder::read(&suite.sample_dir(&id), id);
        let sample = folder.sample.map_err(|message| anyhow!("{name}: {message}"))?;
        let Some(part) = smallest_part(again.as_ref().unwrap_or(&referee), &sample, candidate, args.max_evaluations)
            .context(name.clone())?
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

/// An author, and the failures of the run, if one is given.
struct Subject {
    author: AuthorSpec,
    failed: Option<Failures>,
}

/// Graphs that failed in a run, with the seeds of their verdicts.
struct Failures {
    settings: RunSettings,
    graphs: BTreeMap<GraphId, Option<u64>>,
}

impl Failures {
    /// Returns a referee that repeats the evaluation of a graph: with the settings of the run, and the seed of its verdict. Some
    /// failures depend on the contents of inputs, which the seed decides.
    fn referee(&self, referee: &Referee, id: &GraphId) -> Result<Referee> {
        let RunSettings { device, timeout_s, memory_bytes, seed, .. } = referee.settings().clone();
        let seed = seed.or(self.graphs.get(id).copied().flatten());
        let settings = RunSettings { device, timeout_s, memory_bytes, seed, ..self.settings.clone() };
        Ok(referee.sibling(settings, referee.defences())?)
    }
}

fn subject(args: &BisectArgs) -> Result<Subject> {
    match (&args.run, &args.author) {
        (Some(run), _) => {
            let run = load_run(run)?;
            let failed = run.verdicts.iter().filter(|verdict| verdict.status.is_failure());
            let graphs = failed.map(|verdict| (verdict.id.clone(), verdict.evidence.seed)).collect();
            Ok(Subject { author: run.header.author, failed: Some(Failures { settings: run.header.settings, graphs }) })
        }
        (None, Some(author)) => Ok(Subject { author: author.clone(), failed: None }),
        (None, None) => Err(usage("name an author with --author, or a run with --run")),
    }
}
