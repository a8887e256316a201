//! Many attempts at the tasks of a suite, in a directory from which they can go on.
//!
//! ```text
//! DIR/
//!   run.json                 what the run was begun with
//!   attempts/TASK--K/        journal.jsonl, raw/NNNN.json.zst
//!   verdicts.jsonl           the cache of verdicts
//!   trajectories.jsonl       one record per finished attempt; made anew from the journals
//!   passes/TASK/             the best passes of all attempts: `dir:DIR/passes` is an author
//! ```

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use fs_err as fs;
use passnet_eval::Suite;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::{
    attempt::{AttemptError, Limits, Plan, run_attempt},
    evaluator::Evaluator,
    journal::{Event, Journal, JournalError, SCHEMA_VERSION},
    model::{Model, ModelError, Usage},
    prompt::Templates,
    task::Task,
    trajectory::Trajectory,
};

/// How a run is carried out.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Attempts at each task.
    pub attempts: u32,
    /// Attempts at a time.
    pub jobs: usize,
    /// When an attempt ends.
    pub limits: Limits,
    /// Seed that the seeds of attempts derive from.
    pub seed: u64,
    /// Tokens of all attempts together.
    pub tokens: Option<u64>,
    /// US dollars of all attempts together.
    pub cost_usd: Option<f64>,
    /// How attempts begin.
    pub templates: Templates,
}

/// Why a run cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The directory.
    #[error("cannot write the run: {0}")]
    Io(#[from] io::Error),
    /// Another process is at it.
    #[error("{0}: another process is writing to this run; wait for it or choose another directory")]
    Locked(PathBuf),
    /// It was begun otherwise.
    #[error("{path}: this run was begun with {what} {before}, now it is {now}; choose another directory")]
    Mismatch {
        /// The directory.
        path: PathBuf,
        /// Which setting.
        what: String,
        /// Then.
        before: Value,
        /// Now.
        now: Value,
    },
    /// A journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// An attempt that did not end.
#[derive(Clone, Debug)]
pub struct Suspended {
    /// The task.
    pub task: String,
    /// Which attempt at it.
    pub attempt: u32,
    /// Why.
    pub why: String,
}

/// What is told while a run goes on.
#[derive(Debug)]
pub enum Update<'a> {
    /// An attempt wrote an event down.
    Event {
        /// The task.
        task: &'a str,
        /// The event.
        event: &'a Event,
    },
    /// An attempt has ended, now or earlier.
    Ended(&'a Trajectory),
    /// An attempt could not go on.
    Suspended(&'a Suspended),
}

/// What became of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// Finished attempts, by task and attempt.
    pub trajectories: Vec<Trajectory>,
    /// Attempts that could not go on; the same call tries again.
    pub suspended: Vec<Suspended>,
    /// Whether all attempts have ended.
    pub complete: bool,
    /// Why the run was ended early, beside being told to.
    pub halted: Option<String>,
}

/// The stop flag is looked at this often.
const WATCH: Duration = Duration::from_millis(20);

/// What a run makes: attempts, in order, at tasks of a suite.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// The attempts.
    pub assignments: &'a [Assignment<'a>],
}

/// One attempt that a run makes.
#[derive(Clone, Copy, Debug)]
pub struct Assignment<'a> {
    /// The task, with the graphs that the attempt is about.
    pub task: &'a Task,
    /// Which attempt at it; no two of a run have the same name and number.
    pub attempt: u32,
}

struct Shared<'a> {
    evaluator: &'a Evaluator,
    work: Work<'a>,
    model: &'a dyn Model,
    options: &'a RunOptions,
    directory: &'a Path,
    next: AtomicUsize,
    halt: AtomicBool,
    halted: Mutex<Option<String>>,
    spent: Mutex<Usage>,
    ended: Mutex<Vec<Trajectory>>,
    suspended: Mutex<Vec<Suspended>>,
    progress: &'a (dyn Fn(Update<'_>) + Sync),
}

/// Runs all attempts, or goes on with those that are not finished: first attempts at all tasks, then second ones, and so on.
///
/// # Errors
/// Where the directory cannot be used. What fails in one attempt does not end the others.
pub fn run(
    evaluator: &Evaluator,
    suite: &Suite,
    model: &dyn Model,
    options: &RunOptions,
    directory: &Path,
    stop: &AtomicBool,
    progress: &(dyn Fn(Update<'_>) + Sync),
) -> Result<RunOutcome, RunError> {
    let mut unreadable = Vec::new();
    let mut tasks = Vec::new();
    for record in &suite.record.tasks {
        match Task::read(suite, record) {
            Ok(task) => tasks.push(task),
            Err(error) => unreadable.push((record.id.clone(), error.to_string())),
        }
    }
    let of_attempt = |attempt| tasks.iter().map(move |task| Assignment { task, attempt });
    let assignments: Vec<Assignment<'_>> = (0..options.attempts).flat_map(of_attempt).collect();
    let work = Work { suite, assignments: &assignments };
    let mut outcome = run_assigned(evaluator, work, model, options, directory, stop, progress)?;
    for attempt in 0..options.attempts {
        for (task, why) in &unreadable {
            let suspended = Suspended { task: task.clone(), attempt, why: why.clone() };
            progress(Update::Suspended(&suspended));
            outcome.suspended.push(suspended);
            outcome.complete = false;
        }
    }
    Ok(outcome)
}

/// As [`run`], of these attempts, in this order.
///
/// # Errors
/// As [`run`].
pub fn run_assigned(
    evaluator: &Evaluator,
    work: Work<'_>,
    model: &dyn Model,
    options: &RunOptions,
    directory: &Path,
    stop: &AtomicBool,
    progress: &(dyn Fn(Update<'_>) + Sync),
) -> Result<RunOutcome, RunError> {
    fs::create_dir_all(directory.join("attempts"))?;
    let _lock = lock(directory)?;
    let Work { suite, assignments } = work;
    check_settings(directory, evaluator, suite, model, options)?;
    let shared = Shared {
        evaluator,
        work,
        model,
        options,
        directory,
        next: AtomicUsize::new(0),
        halt: AtomicBool::new(false),
        halted: Mutex::new(None),
        spent: Mutex::new(spent_before(directory)?),
        ended: Mutex::default(),
        suspended: Mutex::default(),
        progress,
    };
    let total = assignments.len();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.jobs.clamp(1, total.max(1))).map(|_| scope.spawn(|| shared.work())).collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            shared.halt.fetch_or(stop.load(Ordering::Relaxed), Ordering::Relaxed);
            std::thread::sleep(WATCH);
        }
    });
    let mut trajectories = shared.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    let places = suite.record.tasks.iter().enumerate().map(|(place, task)| (task.id.as_str(), place));
    let places: BTreeMap<&str, usize> = places.collect();
    trajectories.sort_by_key(|trajectory| (places.get(trajectory.task.id.as_str()).copied(), trajectory.attempt));
    write_trajectories(&directory.join("trajectories.jsonl"), &trajectories)?;
    write_best(&directory.join("passes"), suite, &trajectories)?;
    Ok(RunOutcome {
        complete: trajectories.len() == total,
        trajectories,
        suspended: shared.suspended.into_inner().unwrap_or_else(PoisonError::into_inner),
        halted: shared.halted.into_inner().unwrap_or_else(PoisonError::into_inner),
    })
}

impl Shared<'_> {
    /// One thread: attempt after attempt.
    fn work(&self) {
        while !self.halt.load(Ordering::Relaxed) {
            let Some(assignment) = self.work.assignments.get(self.next.fetch_add(1, Ordering::Relaxed)) else { break };
            self.one(assignment.task, assignment.attempt);
        }
    }

    fn one(&self, task: &Task, attempt: u32) {
        match self.attempt(task, attempt) {
            Ok(Some(trajectory)) => {
                (self.progress)(Update::Ended(&trajectory));
                self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(trajectory);
            }
            Ok(None) => {}
            Err(error) => {
                if is_fatal(&error) {
                    self.stop_all(error.to_string());
                }
                let suspended = Suspended { task: task.id.clone(), attempt, why: error.to_string() };
                (self.progress)(Update::Suspended(&suspended));
                self.suspended.lock().unwrap_or_else(PoisonError::into_inner).push(suspended);
            }
        }
    }

    fn attempt(&self, task: &Task, attempt: u32) -> Result<Option<Trajectory>, AttemptError> {
        let plan = Plan {
            suite: &self.work.suite.record,
            task,
            attempt,
            seed: self.options.seed.wrapping_add(u64::from(attempt)),
            limits: self.options.limits,
            templates: &self.options.templates,
        };
        let directory = attempt_directory(self.directory, &task.id, attempt);
        run_attempt(plan, self.evaluator, self.model, &directory, &self.halt, &|event| {
            if let Event::Reply { usage, .. } = event {
                self.spend(*usage);
            }
            (self.progress)(Update::Event { task: &task.id, event });
        })
    }

    fn spend(&self, usage: Usage) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        *spent += usage;
        let options = self.options;
        if options.tokens.is_some_and(|most| spent.tokens() >= most) {
            self.stop_all(format!("the run has used its budget of tokens ({})", spent.tokens()));
        } else if options.cost_usd.is_some_and(|most| spent.cost_usd.unwrap_or(0.0) >= most) {
            self.stop_all(format!("the run has used its budget (${:.2})", spent.cost_usd.unwrap_or(0.0)));
        }
    }

    fn stop_all(&self, why: String) {
        self.halted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.halt.store(true, Ordering::Relaxed);
    }
}

/// What no other attempt can escape: the key, the name of the model, the referee.
fn is_fatal(error: &AttemptError) -> bool {
    matches!(
        error,
        AttemptError::Model(ModelError::Refused { status: 401..=404, .. })
            | AttemptError::Eval(_)
            | AttemptError::Io(_)
    )
}

fn attempt_directory(run: &Path, task: &str, attempt: u32) -> PathBuf {
    run.join("attempts").join(format!("{task}--{attempt}"))
}

/// The right to write to a run; dropping it lets the next writer in.
#[derive(Debug)]
struct RunLock(File);

impl Drop for RunLock {
    /// Unlocks by name, since a child between `fork` and `exec` shares the open file.
    fn drop(&mut self) {
        // Unlocking an open file cannot fail in a way that closing it would not mend.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

fn lock(directory: &Path) -> Result<RunLock, RunError> {
    let file = File::options().create(true).truncate(false).write(true).open(directory.join("lock"))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(RunLock(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(RunError::Locked(directory.to_owned())),
        Err(errno) => Err(io::Error::from(errno).into()),
    }
}

/// Writes down what the run is begun with, or compares it with what it was begun with.
fn check_settings(
    directory: &Path,
    evaluator: &Evaluator,
    suite: &Suite,
    model: &dyn Model,
    options: &RunOptions,
) -> Result<(), RunError> {
    let now = json!({
        "schema_version": SCHEMA_VERSION,
        "suite": suite.record.name,
        "suite_version": suite.record.version,
        "model": model.name(),
        "steps": options.limits.steps,
        "seed": options.seed,
        "prompts": options.templates.id(),
        "settings": evaluator.referee().settings(),
    });
    let path = directory.join("run.json");
    match fs::read(&path) {
        Ok(bytes) => {
            let before: Value = serde_json::from_slice(&bytes).map_err(io::Error::from)?;
            let differs =
                now.as_object().into_iter().flatten().find(|(name, value)| before.get(name.as_str()) != Some(value));
            match differs {
                Some((what, value)) => Err(RunError::Mismatch {
                    path: directory.to_owned(),
                    what: what.clone(),
                    before: before.get(what).cloned().unwrap_or_default(),
                    now: value.clone(),
                }),
                None => Ok(()),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::write(&path, serde_json::to_vec_pretty(&now).map_err(io::Error::from)?)?;
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// What all attempts of the directory have used so far.
fn spent_before(directory: &Path) -> Result<Usage, RunError> {
    let mut spent = Usage::default();
    for entry in fs::read_dir(directory.join("attempts"))? {
        for event in Journal::read(&entry?.path())? {
            if let Event::Reply { usage, .. } = event {
                spent += usage;
            }
        }
    }
    Ok(spent)
}

/// Writes records, one per line; the file appears whole.
pub(crate) fn write_trajectories(path: &Path, trajectories: &[Trajectory]) -> io::Result<()> {
    let temporary = path.with_extension("jsonl.incomplete");
    let mut out = BufWriter::new(fs::File::create(&temporary)?);
    for trajectory in trajectories {
        serde_json::to_writer(&mut out, trajectory)?;
        out.write_all(b"\n")?;
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(temporary, path)
}

/// Keeps the best passes of each task, of attempts that were about all of its graphs.
fn write_best(directory: &Path, suite: &Suite, trajectories: &[Trajectory]) -> io::Result<()> {
    let sizes = suite.record.tasks.iter().map(|task| (task.id.as_str(), task.graphs.len()));
    let sizes: BTreeMap<&str, usize> = sizes.collect();
    let is_whole = |trajectory: &&Trajectory| {
        let graphs = trajectory.task.visible.len() + trajectory.task.held_out;
        !trajectory.passes.is_empty() && sizes.get(trajectory.task.id.as_str()) == Some(&graphs)
    };
    let mut best: BTreeMap<&str, &Trajectory> = BTreeMap::new();
    for trajectory in trajectories.iter().filter(is_whole) {
        let place = best.entry(&trajectory.task.id).or_insert(trajectory);
        if trajectory.score > place.score {
            *place = trajectory;
        }
    }
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    fs::create_dir_all(directory)?;
    for (task, trajectory) in best {
        fs::create_dir_all(directory.join(task))?;
        for (name, text) in &trajectory.passes {
            fs::write(directory.join(task).join(name), text)?;
        }
    }
    Ok(())
}
