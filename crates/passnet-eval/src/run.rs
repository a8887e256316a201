//! Evaluation of a whole suite: every graph gets one verdict.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use passnet_record::{AuthorSpec, GraphId, PassDirectory, RunEvent, RunHeader, RunMetadata, SCHEMA_VERSION, Verdict};
use passnet_run::{RunStore, SampleFolder, StoreError, Suite, now_rfc3339};

use crate::{Candidate, EvalError, Referee};

/// Time between two checks whether a run has to stop.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Error of a run. The log has everything up to the error; the same call continues the run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An evaluation could not be carried out.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The directory of the run cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Submission of an author for a suite.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Name of the author, as recorded in the run.
    pub author: AuthorSpec,
    /// Candidate of each task. A task without a candidate is evaluated without passes and gets `no_match`.
    pub candidates: BTreeMap<String, Candidate>,
    /// Description for boards, as recorded in the run.
    pub metadata: RunMetadata,
}

impl Submission {
    /// Returns a submission of one candidate for all tasks of a suite.
    pub fn uniform(author: AuthorSpec, candidate: &Candidate, suite: &Suite) -> Self {
        let tasks = suite.record.tasks.iter().map(|task| (task.id.clone(), candidate.clone()));
        Self { author, candidates: tasks.collect(), metadata: RunMetadata::default() }
    }
}

/// Progress of a run.
#[derive(Debug)]
pub enum Progress<'a> {
    /// An evaluation begins.
    Begun(&'a GraphId),
    /// A graph has its verdict.
    Done {
        verdict: &'a Verdict,
        /// True if the log already had the verdict, or the verdict of an equal graph.
        reused: bool,
        /// Number of graphs that have a verdict.
        done: usize,
        /// Number of all graphs.
        total: usize,
    },
}

/// Outcome of a run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    pub header: RunHeader,
    /// Verdicts in the order of the suite, without graphs that were not evaluated.
    pub verdicts: Vec<Verdict>,
    /// True if every graph has a verdict.
    pub complete: bool,
    /// Number of verdicts that were reused.
    pub reused: usize,
}

/// State that the threads of a run share.
struct RunState<'a> {
    referee: &'a Referee,
    work: Vec<(GraphId, &'a Candidate)>,
    next: AtomicUsize,
    store: Mutex<RunStore>,
    verdicts: Mutex<Vec<Option<Verdict>>>,
    reused: AtomicUsize,
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

/// Evaluates a submission on a suite and writes the run into a directory, or continues the run in it.
///
/// Ends early when `stop` becomes true: running evaluations are killed and leave no verdict.
///
/// # Errors
/// If the run cannot be written, or the fork server fails permanently.
pub fn run_suite(
    referee: &Referee,
    suite: &Suite,
    submission: &Submission,
    directory: &Path,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<RunOutcome, RunError> {
    let begin = Instant::now();
    let tasks = &suite.record.tasks;
    let nothing = Candidate::Passes(PassDirectory::empty());
    let candidates: Vec<&Candidate> =
        tasks.iter().map(|task| submission.candidates.get(&task.id).unwrap_or(&nothing)).collect();
    let work: Vec<(GraphId, &Candidate)> = tasks
        .iter()
        .zip(&candidates)
        .flat_map(|(task, &candidate)| {
            task.graphs.iter().map(move |graph| (GraphId { task: task.id.clone(), graph: graph.clone() }, candidate))
        })
        .collect();
    let header = RunHeader {
        schema_version: SCHEMA_VERSION,
        run: directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        suite: suite.record.name.clone(),
        suite_version: suite.record.version.clone(),
        graphs: work.len(),
        author: submission.author.clone(),
        settings: referee.settings().clone(),
        fingerprint: referee.fingerprint().clone(),
        started: now_rfc3339(),
        metadata: submission.metadata.clone(),
    };
    let mut store = RunStore::open(directory, &header)?;
    for (task, candidate) in tasks.iter().zip(&candidates) {
        if let Candidate::Passes(passes) = candidate {
            store.record_passes(&task.id, passes)?;
        }
    }
    let total = work.len();
    let shared = RunState {
        referee,
        work,
        next: AtomicUsize::new(0),
        store: Mutex::new(store),
        verdicts: Mutex::new(vec![None; total]),
        reused: AtomicUsize::new(0),
        stop,
        progress,
    };
    let jobs = referee.jobs().clamp(1, total.max(1));
    let failed = AtomicBool::new(false);
    let results: Vec<Result<(), RunError>> = halting(referee, stop, || {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(|| shared.work(suite, &failed))).collect();
            let results: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            results.into_iter().map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    });
    results.into_iter().collect::<Result<Vec<()>, _>>()?;
    let verdicts: Vec<Verdict> =
        shared.verdicts.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect();
    let complete = verdicts.len() == total;
    let store = shared.store.into_inner().unwrap_or_else(PoisonError::into_inner);
    if complete {
        store.finish(begin.elapsed().as_nanos() as u64)?;
    }
    Ok(RunOutcome { header, verdicts, complete, reused: shared.reused.into_inner() })
}

/// Calls `evaluate`, and kills its evaluations once `stop` is true. Those fail and have no verdict.
pub fn halting<T>(referee: &Referee, stop: &AtomicBool, evaluate: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    referee.resume();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| halt_when_stopped(referee, stop, &over));
        // Also after a panic, or the scope would wait for its thread without end.
        let _end = Ended(&over);
        evaluate()
    });
    referee.resume();
    result
}

/// Sets the flag when it is dropped.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Kills the processes of evaluations once `stop` is true. Repeats this until all evaluations have ended, because an evaluation may have
/// just begun.
fn halt_when_stopped(referee: &Referee, stop: &AtomicBool, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        if stop.load(Ordering::Relaxed) {
            referee.halt();
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

impl RunState<'_> {
    /// Runs one thread, which evaluates graphs until none is left or `stop` is true.
    fn work(&self, suite: &Suite, failed: &AtomicBool) -> Result<(), RunError> {
        while !self.stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((id, candidate)) = self.work.get(index) else { break };
            let result = self.one(suite, id, candidate);
            // The workers were killed because the run stops. This is not a failure of the machine.
            if result.is_err() && self.stop.load(Ordering::Relaxed) {
                break;
            }
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            let (verdict, reused) = result?;
            self.reused.fetch_add(usize::from(reused), Ordering::Relaxed);
            let mut verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
            verdicts[index] = Some(verdict.clone());
            let done = verdicts.iter().flatten().count();
            drop(verdicts);
            (self.progress)(Progress::Done { verdict: &verdict, reused, done, total: self.work.len() });
        }
        Ok(())
    }

    /// Returns the verdict of one graph, and whether it was reused from the log.
    fn one(&self, suite: &Suite, id: &GraphId, candidate: &Candidate) -> Result<(Verdict, bool), RunError> {
        let folder = SampleFolder::read(&suite.sample_dir(id), id.clone());
        let key = self.referee.key_of_folder(&folder, candidate);
        let known = self.store().verdict(&key, id).cloned();
        if let Some(known) = known {
            if known.id == *id {
                return Ok((known, true));
            }
            // The key depends on content only: an equal graph of another task has the same verdict and needs no evaluation.
            let verdict = Verdict { id: id.clone(), ..known };
            self.store().append(&RunEvent::Verdict(Box::new(verdict.clone())))?;
            return Ok((verdict, true));
        }
        (self.progress)(Progress::Begun(id));
        let evaluation = self.referee.evaluate_folder(&folder, candidate)?;
        let mut store = self.store();
        // Blobs are written first, so that a verdict in the log never names a missing blob.
        for blob in &evaluation.blobs {
            store.put_blob(blob)?;
        }
        store.append(&RunEvent::Verdict(Box::new(evaluation.verdict.clone())))?;
        Ok((evaluation.verdict, false))
    }

    fn store(&self) -> std::sync::MutexGuard<'_, RunStore> {
        // A poisoned lock is accepted, because every append leaves the store consistent.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
