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
    task::{Task, TaskError},
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

struct Shared<'a> {
    evaluator: &'a Evaluator,
    suite: &'a Suite,
    model: &'a dyn Model,
    options: &'a RunOptions,
    directory: &'a Path,
    tasks: Vec<Result<Task, TaskError>>,
    next: AtomicUsize,
    halt: AtomicBool,
    halted: Mutex<Option<String>>,
    spent: Mutex<Usage>,
    ended: Mutex<Vec<(usize, Trajectory)>>,
    suspended: Mutex<Vec<Suspended>>,
    progress: &'a (dyn Fn(Update<'_>) + Sync),
}

/// Runs all attempts, or goes on with those that are not finished.
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
    fs::create_dir_all(directory.join("attempts"))?;
    let _lock = lock(directory)?;
    check_settings(directory, evaluator, suite, model, options)?;
    let shared = Shared {
        tasks: suite.record.tasks.iter().map(|task| Task::read(suite, task)).collect(),
        evaluator,
        suite,
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
    let total = shared.tasks.len() * options.attempts as usize;
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..options.jobs.clamp(1, total.max(1))).map(|_| scope.spawn(|| shared.work(total))).collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            shared.halt.fetch_or(stop.load(Ordering::Relaxed), Ordering::Relaxed);
            std::thread::sleep(WATCH);
        }
    });
    let mut ended = shared.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    ended.sort_by_key(|&(index, _)| index);
    let mut trajectories: Vec<Trajectory> = ended.into_iter().map(|(_, trajectory)| trajectory).collect();
    let position = |id: &str| suite.record.tasks.iter().position(|task| task.id == id);
    trajectories.sort_by_key(|trajectory| (position(&trajectory.task.id), trajectory.attempt));
    write_trajectories(&directory.join("trajectories.jsonl"), &trajectories)?;
    write_best(&directory.join("passes"), &trajectories)?;
    Ok(RunOutcome {
        complete: trajectories.len() == total,
        trajectories,
        suspended: shared.suspended.into_inner().unwrap_or_else(PoisonError::into_inner),
        halted: shared.halted.into_inner().unwrap_or_else(PoisonError::into_inner),
    })
}

impl Shared<'_> {
    /// One thread: first attempts at all tasks, then second ones, and so on.
    fn work(&self, total: usize) {
        while !self.halt.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= total {
                break;
            }
            let (attempt, task) = (index / self.tasks.len(), index % self.tasks.len());
            self.one(index, task, attempt as u32);
        }
    }

    fn one(&self, index: usize, task: usize, attempt: u32) {
        let id = &self.suite.record.tasks[task].id;
        let result = match &self.tasks[task] {
            Ok(task) => self.attempt(task, attempt).map_err(|error| {
                if is_fatal(&error) {
                    self.stop_all(error.to_string());
                }
                error.to_string()
            }),
            Err(error) => Err(error.to_string()),
        };
        match result {
            Ok(Some(trajectory)) => {
                (self.progress)(Update::Ended(&trajectory));
                self.ended.lock().unwrap_or_else(PoisonError::into_inner).push((index, trajectory));
            }
            Ok(None) => {}
            Err(why) => {
                let suspended = Suspended { task: id.clone(), attempt, why };
                (self.progress)(Update::Suspended(&suspended));
                self.suspended.lock().unwrap_or_else(PoisonError::into_inner).push(suspended);
            }
        }
    }

    fn attempt(&self, task: &Task, attempt: u32) -> Result<Option<Trajectory>, AttemptError> {
        let plan = Plan {
            suite: &self.suite.record,
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

fn lock(directory: &Path) -> Result<File, RunError> {
    let file = File::options().create(true).truncate(false).write(true).open(directory.join("lock"))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
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

/// Keeps the best passes of each task.
fn write_best(directory: &Path, trajectories: &[Trajectory]) -> io::Result<()> {
    let mut best: std::collections::BTreeMap<&str, &Trajectory> = std::collections::BTreeMap::new();
    for trajectory in trajectories.iter().filter(|trajectory| !trajectory.passes.is_empty()) {
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
