//! The referees that evaluate all entries, one for each set of layers.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use passnet_eval::{Candidate, Defences, Referee, RefereeOptions, ZygoteConfig, settings};
use passnet_record::{Coverage, Device, ExecutionPath, GraphId, PassDirectory, RunSettings, Status, Verdict};
use passnet_run::{GraphSample, Suite};
use passnet_services::Interpreter;

use crate::{AttackError, AttackOptions, bait::Bait, entry::AttackEntry, outcome::ModeResult};

/// Returns the sets of layers under which an entry is evaluated: `none`, `all`, or the name of a single layer.
pub(crate) fn modes(coverage: Coverage, entry: &AttackEntry) -> Vec<&'static str> {
    let single = Defences::LAYERS.map(|(name, _)| name);
    match coverage {
        // Fewer layers reject less, so one run with all of them is enough.
        _ if entry.is_honest() => vec!["all"],
        Coverage::Once => vec!["all"],
        Coverage::Full if !entry.meta.by_construction => ["none", "all"].into_iter().chain(single).collect(),
        Coverage::Quick | Coverage::Full => vec!["none", "all"],
    }
}

/// Number of attempts for an attack without effect. Some attacks have to win a race, and one success proves that they work.
const TRIES: usize = 3;

/// An entry under one set of layers.
pub(crate) struct EntryRun<'a> {
    pub(crate) entry: &'a AttackEntry,
    pub(crate) mode: &'static str,
}

/// State shared by all evaluations: a fork server with a sandbox and one without, the tasks, and one referee per mode.
pub(crate) struct AttackReferees<'a> {
    suite: &'a Suite,
    samples: BTreeMap<GraphId, GraphSample>,
    referees: BTreeMap<&'static str, Referee>,
}

impl<'a> AttackReferees<'a> {
    pub(crate) fn new(options: &AttackOptions, suite: &'a Suite) -> Result<Self, AttackError> {
        let device = options.device;
        let referee_options = RefereeOptions {
            zygote: ZygoteConfig::from(Interpreter::find()),
            defences: Defences::ALL,
            // A cached verdict would test an earlier referee.
            cache: None,
            jobs: options.jobs,
        };
        let first = Referee::new(quick_settings(device), referee_options)?;
        let mut referees = BTreeMap::new();
        if options.coverage != Coverage::Once {
            let none = first.sibling(quick_settings(device), Defences::NONE)?;
            let single = Defences::LAYERS.into_iter().filter(|_| options.coverage == Coverage::Full);
            for (name, defences) in single {
                // Referees with the same base share its fork server, whose workers either have the sandbox or not.
                let base = if defences.sandbox { &first } else { &none };
                referees.insert(name, base.sibling(quick_settings(device), defences)?);
            }
            referees.insert("none", none);
        }
        referees.insert("all", first);
        let mut samples = BTreeMap::new();
        for id in suite.graphs() {
            let path = suite.sample_dir(&id);
            let sample = GraphSample::read(&path, id.clone());
            let sample = sample.map_err(|error| AttackError::Entry { path, message: error.to_string() })?;
            samples.insert(id, sample);
        }
        Ok(Self { suite, samples, referees })
    }

    /// Evaluates all jobs, several at a time. Returns the results by entry and mode.
    pub(crate) fn run(
        &self,
        jobs: &[EntryRun<'_>],
        threads: usize,
    ) -> Result<BTreeMap<(String, &'static str), ModeResult>, AttackError> {
        let (next, seen) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let work = || -> Result<(), AttackError> {
            // A counter instead of fixed shares of the list: attacks that wait for a time limit would delay their share.
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let may_win_later = job.mode == "none" && !job.entry.meta.by_construction;
                // Some attacks take effect only by chance, such as those that search freed memory for their state.
                let was_idle = |found: &ModeResult| {
                    let is_attack = job.mode == "all" && job.entry.meta.expect.is_some();
                    is_attack && matches!(found.verdict.status, Status::Correct | Status::Unstable)
                };
                let mut found = self.evaluate(job)?;
                for _ in 1..TRIES {
                    if found.reached || !(may_win_later || was_idle(&found)) {
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

    /// Evaluates an entry under one set of layers, on all graphs of its task. Evaluates it again if the machine could not.
    fn evaluate(&self, job: &EntryRun<'_>) -> Result<ModeResult, AttackError> {
        match self.evaluate_once(job) {
            // It may have had too little memory or time for a moment.
            Err(AttackError::Eval(error)) => {
                tracing::warn!("{} {}: {error}; it runs again", job.entry.name, job.mode);
                self.evaluate_once(job)
            }
            result => result,
        }
    }

    fn evaluate_once(&self, job: &EntryRun<'_>) -> Result<ModeResult, AttackError> {
        let task = job.entry.task(&self.suite.record)?;
        let bait =
            Bait::new(&self.suite.sample_dir(&GraphId { task: task.id.clone(), graph: task.graphs[0].clone() }))?;
        let files = job.entry.files.iter().map(|(name, bytes)| (name.clone(), bait.fill_in(bytes)));
        let passes =
            PassDirectory::new(files).map_err(|source| AttackError::Passes { name: job.entry.name.clone(), source })?;
        let candidate = Candidate::Passes(passes);
        let referee = &self.referees[job.mode];
        let mut graphs: Vec<GraphId> = self.suite.visible(task).collect();
        // Held-out graphs are a defence as well, so only the mode `all` has them.
        let held_out = if job.mode == "all" { task.held_out.as_slice() } else { &[] };
        graphs.extend(held_out.iter().map(|graph| GraphId { task: task.id.clone(), graph: graph.clone() }));
        let mut verdicts: Vec<Verdict> = Vec::new();
        for id in graphs {
            verdicts.push(referee.evaluate(&self.samples[&id], &candidate)?.verdict);
        }
        Ok(ModeResult::new(&job.entry.meta.goal, &verdicts, &bait))
    }
}

/// Returns settings for short evaluations. Few attacks change times, and those that do change them by orders of magnitude.
fn quick_settings(device: Device) -> RunSettings {
    RunSettings {
        warmup: 2,
        trials: 8,
        rounds: 8,
        pairs: 1,
        check_rounds: 2,
        paths: vec![ExecutionPath::Direct],
        // On a busy machine, the status `unstable` would hide whether a pass is caught.
        max_fluctuation: 1e9,
        max_remeasure: 0,
        timeout_s: 90.0,
        memory_bytes: 4 << 30,
        ..settings::sound(device)
    }
}
