//! `passnet bisect`: the smallest failing parts of failing graphs, as samples.

use std::{
    collections::BTreeMap,
    path::Path,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context as _, Result, anyhow};
use passnet_dataset::open_suite;
use passnet_eval::{Candidate, Referee, bisect::Bisection, halting, smallest_part};
use passnet_record::{AuthorSpec, GraphId, RunSettings, TextTable, counted};
use passnet_run::{SampleFolder, Suite, archive::load_run};

use super::{
    authors::{check_author, create, write_submission},
    referee,
    stop::interruptible_with_folder,
};
use crate::{
    failure::{check_folder, exit_code, usage},
    output,
};
use passnet_flags::BisectArgs;

/// Bisects each graph that fails. Exits with 1 if one does, and after an interrupt.
pub(crate) fn run(args: &BisectArgs) -> Result<ExitCode> {
    let subject = subject(args)?;
    check_folder(&args.out)?;
    check_author(&subject.author, args.measure.device)?;
    let suite = open_suite(&args.suite, &args.selection.selection())?;
    interruptible_with_folder("passnet-bisect-", |scratch, stop| {
        // One evaluation at a time, because the next part depends on the verdict on the current part.
        let referee = referee::start_for(&suite.record, &args.measure, Some(1))?;
        halting(&referee, stop, || bisect_graphs(args, &subject, &suite, &referee, scratch, stop))
    })
}

/// Bisects the failing graphs until `stop` is true, and prints the parts that were found.
fn bisect_graphs(
    args: &BisectArgs,
    subject: &Subject,
    suite: &Suite,
    referee: &Referee,
    scratch: &Path,
    stop: &AtomicBool,
) -> Result<ExitCode> {
    let is_stopped = || stop.load(Ordering::SeqCst);
    let submission = write_submission(create(&subject.author)?.as_mut(), suite, referee, scratch, stop)?;
    let mut rows = TextTable::new(&["graph", "status", "of", "nodes", "evaluations", "minimal"], 2);
    let mut found = 0;
    for id in suite.graphs().filter(|id| subject.asks_for(id)).take_while(|_| !is_stopped()) {
        let Some(candidate) = submission.candidates.get(&id.task) else { continue };
        let name = format!("{}/{}", id.task, id.graph);
        let part = match failing_part(args, subject, suite, referee, id, candidate) {
            // The evaluations were killed. The parts before are complete.
            Err(_) if is_stopped() => break,
            part => part.context(name.clone())?,
        };
        let Some(part) = part else {
            eprintln!("{name}: does not fail");
            continue;
        };
        found += 1;
        part.save(&args.out.join(&name), &subject.author)?;
        rows.push(row(name, &part));
    }
    if found > 0 {
        output::table(&rows)?;
        eprintln!("{} in {}", counted(found, "failing part"), args.out.display());
    } else if !is_stopped() {
        output::text("no graph fails")?;
        return Ok(ExitCode::SUCCESS);
    }
    // The command found a failure: code 1, as for `eval`.
    exit_code(false)
}

/// Returns the smallest failing part of a graph, or `None` if the graph does not fail.
fn failing_part(
    args: &BisectArgs,
    subject: &Subject,
    suite: &Suite,
    referee: &Referee,
    id: GraphId,
    candidate: &Candidate,
) -> Result<Option<Bisection>> {
    let again = subject.failed.as_ref().map(|failed| failed.referee(referee, &id)).transpose()?;
    let folder = SampleFolder::read(&suite.sample_dir(&id), id);
    let sample = folder.sample.map_err(|message| anyhow!("{message}"))?;
    Ok(smallest_part(again.as_ref().unwrap_or(referee), &sample, candidate, args.max_evaluations)?)
}

fn row(name: String, part: &Bisection) -> [String; 6] {
    [
        name,
        part.verdict.status.name().to_owned(),
        part.whole.to_string(),
        part.sample.graph().num_nodes().to_string(),
        part.evaluations.to_string(),
        if part.is_minimal { "yes" } else { "no" }.to_owned(),
    ]
}

/// An author, and the failures of the run, if one is given.
struct Subject {
    author: AuthorSpec,
    failed: Option<Failures>,
}

impl Subject {
    fn asks_for(&self, id: &GraphId) -> bool {
        self.failed.as_ref().is_none_or(|failed| failed.graphs.contains_key(id))
    }
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
