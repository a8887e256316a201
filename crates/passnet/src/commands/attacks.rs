//! `passnet attacks`: the attack suite against this installation. `attacks/README.md` describes the directory it takes.
//!
//! Each attack is evaluated with all layers off, where it has to reach its goal (else it proves nothing: *dead*), and with
//! all on, where it has to fail for the reason it names (else it *escaped*, or was *misjudged*). Honest passes have to get
//! through with all layers on (else a *false rejection*).

mod bait;
mod entry;
mod naive;
mod outcome;
mod report;

use std::{
    collections::BTreeMap,
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Context, Result};
use passnet_eval::{
    Candidate, Defences, GraphSample, PassDirectory, Referee, RefereeOptions,
    python::Interpreter,
    settings,
    suite::{Selection, Suite},
};
use passnet_record::{ExecutionPath, GraphId, RunSettings, Verdict};
use serde::Serialize;

use self::{
    bait::Bait,
    entry::Entry,
    outcome::{Judged, Seen, judge},
};
use crate::{args::AttacksArgs, failure::BAD, failure::unfit, output};

/// Runs the suite and prints what came of it. Leaves with 1 unless every attack was caught and every honest pass got
/// through.
pub(crate) fn run(args: &AttacksArgs) -> Result<ExitCode> {
    let entries = entry::read_all(&args.directory, &args.filter)?;
    let suite = Suite::load(&args.directory.join("tasks"), &Selection::default())?;
    let (on_gpu, depth) = (args.device != "cpu", Depth::of(args));
    let arena = Arena::new(args, depth, &suite)?;
    let jobs: Vec<Job<'_>> = entries
        .iter()
        .filter(|entry| entry.runs_on(on_gpu))
        .flat_map(|entry| depth.modes(entry).into_iter().map(move |mode| Job { entry, mode }))
        .collect();
    let seen = arena.run(&jobs, args.jobs)?;
    let controls = match depth {
        Depth::Once => BTreeMap::new(),
        Depth::Quick | Depth::Full => naive::run(&args.directory, &entries, &suite, on_gpu)?,
    };
    let judged: Vec<Judged> = entries.iter().map(|entry| judge(entry, &seen, &controls, on_gpu)).collect();
    let report = report::Report::new(&args.device, depth, judged);
    if args.json {
        output::json(&report)?;
    } else {
        report.print()?;
    }
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(BAD) })
}

/// How much is asked of each attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Depth {
    /// Whether it is caught.
    Once,
    /// Whether it works where nothing stops it, too.
    Quick,
    /// Which layers stop it alone, too.
    Full,
}

impl Depth {
    fn of(args: &AttacksArgs) -> Self {
        match (args.once, args.quick) {
            (true, _) => Self::Once,
            (false, true) => Self::Quick,
            (false, false) => Self::Full,
        }
    }

    /// The sets of layers that an entry is evaluated under: `none`, `all`, or the name of a single one.
    fn modes(self, entry: &Entry) -> Vec<&'static str> {
        let single = Defences::LAYERS.map(|(name, _)| name);
        match self {
            _ if entry.is_honest() => vec!["all"],
            Self::Once => vec!["all"],
            Self::Full if !entry.meta.by_construction => ["none", "all"].into_iter().chain(single).collect(),
            Self::Quick | Self::Full => vec!["none", "all"],
        }
    }
}

/// How often an attack may try to reach its goal where nothing stops it: some win a race only now and then, and one win proves
/// them.
const TRIES_WITHOUT_LAYERS: usize = 3;

struct Job<'a> {
    entry: &'a Entry,
    mode: &'static str,
}

/// What all evaluations share: a fork server that confines workers and one that does not, the tasks, a referee per mode.
struct Arena<'a> {
    suite: &'a Suite,
    samples: BTreeMap<GraphId, GraphSample>,
    referees: BTreeMap<&'static str, Referee>,
}

impl<'a> Arena<'a> {
    fn new(args: &AttacksArgs, depth: Depth, suite: &'a Suite) -> Result<Self> {
        let device = if args.device == "cuda" { "cuda:0" } else { &args.device };
        let options = RefereeOptions {
            zygote: Interpreter::find().zygote(),
            defences: Defences::ALL,
            cache: None,
            jobs: args.jobs,
        };
        let first = Referee::new(quick_settings(device), options).map_err(|error| unfit(error.to_string()))?;
        let mut referees = BTreeMap::new();
        if depth != Depth::Once {
            let none = first.sibling(quick_settings(device), Defences::NONE)?;
            for (name, defences) in Defences::LAYERS.into_iter().filter(|_| depth == Depth::Full) {
                let base = if defences.sandbox { &first } else { &none };
                referees.insert(name, base.sibling(quick_settings(device), defences)?);
            }
            referees.insert("none", none);
        }
        referees.insert("all", first);
        let mut samples = BTreeMap::new();
        for id in suite.graphs() {
            let sample = GraphSample::read(&suite.sample_dir(&id), id.clone());
            samples.insert(id.clone(), sample.with_context(|| format!("task {}", id.task))?);
        }
        Ok(Self { suite, samples, referees })
    }

    /// Evaluates all jobs, several at once; what was seen by id and mode.
    fn run(&self, jobs: &[Job<'_>], threads: usize) -> Result<BTreeMap<(String, &'static str), Seen>> {
        let (next, seen) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let work = || -> Result<()> {
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let may_win_later = job.mode == "none" && !job.entry.meta.by_construction;
                let tries = if may_win_later { TRIES_WITHOUT_LAYERS } else { 1 };
                let mut found = self.evaluate(job).with_context(|| format!("attack {}", job.entry.name))?;
                for _ in 1..tries {
                    if found.reached {
                        break;
                    }
                    found = self.evaluate(job)?;
                }
                tracing::info!("{} {}: {found:?}", job.entry.name, job.mode);
                let key = (job.entry.name.clone(), job.mode);
                seen.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found);
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        Ok(seen.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// One entry under one set of layers, on all graphs of its task. Held-out graphs are part of the defence.
    fn evaluate(&self, job: &Job<'_>) -> Result<Seen> {
        let task = job.entry.task(&self.suite.record)?;
        let bait =
            Bait::new(&self.suite.sample_dir(&GraphId { task: task.id.clone(), graph: task.graphs[0].clone() }))?;
        let files = job.entry.files.iter().map(|(name, bytes)| (name.clone(), bait.fill_in(bytes)));
        let candidate = Candidate::Passes(PassDirectory::of_bytes(files));
        let referee = &self.referees[job.mode];
        let mut graphs: Vec<GraphId> = self.suite.visible(task).collect();
        let held_out = if job.mode == "all" { task.held_out.as_slice() } else { &[] };
        graphs.extend(held_out.iter().map(|graph| GraphId { task: task.id.clone(), graph: graph.clone() }));
        let mut verdicts: Vec<Verdict> = Vec::new();
        for id in graphs {
            verdicts.push(referee.evaluate(&self.samples[&id], &candidate)?.verdict);
        }
        Ok(Seen::new(&job.entry.meta.goal, &verdicts, &bait))
    }
}

/// Enough to reach a verdict; the times themselves matter to few attacks, and to those by orders of magnitude.
fn quick_settings(device: &str) -> RunSettings {
    RunSettings {
        warmup: 2,
        trials: 8,
        rounds: 8,
        check_rounds: 2,
        paths: vec![ExecutionPath::Direct],
        max_iqr_ratio: 1e9,
        max_remeasure: 0,
        timeout_s: 90.0,
        memory_bytes: 4 << 30,
        ..settings::sound(device)
    }
}
