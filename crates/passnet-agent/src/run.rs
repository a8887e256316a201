//! Runs: many attempts at the tasks of a suite, resumable from a directory.
//!
//! ```text
//! DIR/
//!   run.json                 settings of the run
//!   attempts/TASK--K/        journal.jsonl, raw/NNNN.json.zst
//!   verdicts.jsonl           the cache of verdicts
//!   trajectories.jsonl       one record per finished attempt, derived from the journals; written once a minute at most, and at the end
//!   passes/TASK/             the best passes of all attempts: `dir:DIR/passes` is an author
//! ```

mod directory;

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use fs_err as fs;
use passnet_run::Suite;

use crate::{
    attempt::{AttemptError, AttemptLimits, AttemptPlan, run_attempt},
    evaluator::Evaluator,
    model::{LanguageModel, ModelError},
    prompt::Templates,
    style::style_of,
    task::Task,
};

pub use self::directory::AgentRunError;
use passnet_record::agent::{AgentRunSettings, JournalEvent, Style, TRAJECTORY_VERSION, TokenUsage, Trajectory};

use self::directory::{attempt_directory, check_settings, lock, spent_before, write_best, write_trajectories};

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Number of attempts at each task.
    pub attempts: u32,
    /// Number of concurrent attempts.
    pub jobs: usize,
    /// Limits of each attempt.
    pub limits: AttemptLimits,
    /// Seed that the seeds of attempts derive from.
    pub seed: u64,
    /// Token budget of all attempts together.
    pub tokens: Option<u64>,
    /// Cost budget of all attempts together, in US dollars.
    pub cost_usd: Option<f64>,
    /// Prompt templates.
    pub templates: Templates,
    /// Speed-ups of the built-in author, by task. The prompt of a task has its speed-up.
    pub to_beat: BTreeMap<String, f64>,
}

/// An attempt that was interrupted by an error.
#[derive(Clone, Debug)]
pub struct Suspended {
    /// The task.
    pub task: String,
    /// Number of the attempt.
    pub attempt: u32,
    /// Error.
    pub why: String,
}

/// Progress of a run.
#[derive(Debug)]
pub enum Update<'a> {
    /// An attempt recorded an event.
    Event {
        /// The task.
        task: &'a str,
        /// The event.
        event: &'a JournalEvent,
    },
    /// An attempt has ended, now or in an earlier run.
    Ended(&'a Trajectory),
    /// An attempt was interrupted by an error.
    Suspended(&'a Suspended),
}

/// Outcome of a run.
#[derive(Debug)]
pub struct AgentRunOutcome {
    /// Finished attempts that are kept, by task and attempt.
    pub trajectories: Vec<Trajectory>,
    /// Number of finished attempts that are not kept, because they have none of the styles that they had to have.
    pub dropped: usize,
    /// Interrupted attempts; the same call retries them.
    pub suspended: Vec<Suspended>,
    /// True if all attempts have ended.
    pub complete: bool,
    /// Reason why the run ended early, other than a stop request.
    pub halted: Option<String>,
    /// Usage of all attempts, also of unfinished ones and of those of earlier calls.
    pub spent: TokenUsage,
}

/// Interval at which the stop flag is read.
const WATCH: Duration = Duration::from_millis(20);
/// Shortest time between two writes of the trajectories that have ended. A run that is killed has those of the last write.
const BETWEEN_WRITES: Duration = Duration::from_secs(60);
/// The time between two writes is at least this many times the time of a write, which grows with the number of trajectories.
const TIMES_A_WRITE: u32 = 50;

/// Attempts that a run makes, in order.
#[derive(Clone, Copy, Debug)]
pub struct RunPlan<'a> {
    /// Suite of the tasks.
    pub suite: &'a Suite,
    /// Attempts in the order in which they start.
    pub assignments: &'a [PlannedAttempt<'a>],
    /// Name of the meaning of attempt numbers, if they are more than an order. A run is resumed only with the same name.
    pub numbering: Option<&'a str>,
}

/// One attempt that a run makes.
#[derive(Clone, Copy, Debug)]
pub struct PlannedAttempt<'a> {
    /// Task with the graphs that the attempt covers.
    pub task: &'a Task,
    /// Number of the attempt; a run has no two assignments with the same task name and number.
    pub attempt: u32,
    /// Styles that the trajectory has to have to be kept; empty keeps it in any case.
    pub styles: &'a [Style],
}

/// Finished attempts that are kept.
struct Ended {
    trajectories: Vec<Trajectory>,
    /// Time of the last write.
    written: Instant,
    /// Time that the last write took.
    write_time: Duration,
}

impl Ended {
    fn new() -> Self {
        Self { trajectories: Vec::new(), written: Instant::now(), write_time: Duration::ZERO }
    }

    fn is_due(&self) -> bool {
        self.written.elapsed() >= BETWEEN_WRITES.max(self.write_time * TIMES_A_WRITE)
    }

    /// Writes the trajectories by task and attempt.
    fn write(&mut self, suite: &Suite, directory: &Path) -> io::Result<()> {
        let begin = Instant::now();
        let places = suite.record.tasks.iter().enumerate().map(|(place, task)| (task.id.as_str(), place));
        let places: BTreeMap<&str, usize> = places.collect();
        let place = |trajectory: &Trajectory| {
            (places.get(trajectory.setup.task.id.as_str()).copied(), trajectory.setup.attempt)
        };
        self.trajectories.sort_by_key(place);
        write_trajectories(&directory.join("trajectories.jsonl"), &self.trajectories)?;
        self.written = Instant::now();
        self.write_time = self.written - begin;
        Ok(())
    }
}

/// State that the threads of a run share.
struct AttemptsState<'a> {
    evaluator: &'a Evaluator,
    plan: RunPlan<'a>,
    model: &'a dyn LanguageModel,
    options: &'a RunOptions,
    directory: &'a Path,
    next: AtomicUsize,
    halt: AtomicBool,
    halted: Mutex<Option<String>>,
    spent: Mutex<TokenUsage>,
    ended: Mutex<Ended>,
    dropped: AtomicUsize,
    suspended: Mutex<Vec<Suspended>>,
    progress: &'a (dyn Fn(Update<'_>) + Sync),
}

/// Runs all attempts or resumes the unfinished ones: the first attempts at all tasks, then the second ones, and so on.
///
/// # Errors
/// Fails if the directory cannot be used. A failure of one attempt does not end the others.
pub fn run(
    evaluator: &Evaluator,
    suite: &Suite,
    model: &dyn LanguageModel,
    options: &RunOptions,
    directory: &Path,
    stop: &AtomicBool,
    progress: &(dyn Fn(Update<'_>) + Sync),
) -> Result<AgentRunOutcome, AgentRunError> {
    let mut unreadable = Vec::new();
    let mut tasks = Vec::new();
    for record in &suite.record.tasks {
        match Task::read(suite, record) {
            Ok(mut task) => {
                task.to_beat = options.to_beat.get(&record.id).copied();
                tasks.push(task);
            }
            // If one task cannot be read, the attempts at the others continue. The error is reported at the end.
            Err(error) => unreadable.push((record.id.clone(), error.to_string())),
        }
    }
    // The outer loop is over attempts, so that a run that ends early has tried each task about equally often.
    let of_attempt = |attempt| tasks.iter().map(move |task| PlannedAttempt { task, attempt, styles: &[] });
    let assignments: Vec<PlannedAttempt<'_>> = (0..options.attempts).flat_map(of_attempt).collect();
    let plan = RunPlan { suite, assignments: &assignments, numbering: None };
    let mut outcome = run_assigned(evaluator, plan, model, options, directory, stop, progress)?;
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

/// Runs or resumes the given attempts, in this order.
///
/// # Errors
/// Fails for the same reasons as [`run`].
pub fn run_assigned(
    evaluator: &Evaluator,
    plan: RunPlan<'_>,
    model: &dyn LanguageModel,
    options: &RunOptions,
    directory: &Path,
    stop: &AtomicBool,
    progress: &(dyn Fn(Update<'_>) + Sync),
) -> Result<AgentRunOutcome, AgentRunError> {
    fs::create_dir_all(directory.join("attempts"))?;
    let _lock = lock(directory)?;
    let RunPlan { suite, assignments, numbering } = plan;
    let settings = settings(evaluator, suite, model, options, numbering);
    check_settings(directory, &settings)?;
    let runner = AttemptsState {
        evaluator,
        plan,
        model,
        options,
        directory,
        next: AtomicUsize::new(0),
        halt: AtomicBool::new(false),
        halted: Mutex::new(None),
        // The budget is for the whole run, including earlier starts.
        spent: Mutex::new(spent_before(directory)?),
        ended: Mutex::new(Ended::new()),
        dropped: AtomicUsize::new(0),
        suspended: Mutex::default(),
        progress,
    };
    let total = assignments.len();
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..options.jobs.clamp(1, total.max(1))).map(|_| scope.spawn(|| runner.run_attempts())).collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            // The caller's flag may come from a signal handler and cannot wake a thread, so it is polled.
            runner.halt.fetch_or(stop.load(Ordering::Relaxed), Ordering::Relaxed);
            std::thread::sleep(WATCH);
        }
    });
    let dropped = runner.dropped.into_inner();
    let mut ended = runner.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    ended.write(suite, directory)?;
    let trajectories = ended.trajectories;
    write_best(&directory.join("passes"), suite, &trajectories)?;
    Ok(AgentRunOutcome {
        complete: trajectories.len() + dropped == total,
        trajectories,
        dropped,
        suspended: runner.suspended.into_inner().unwrap_or_else(PoisonError::into_inner),
        halted: runner.halted.into_inner().unwrap_or_else(PoisonError::into_inner),
        spent: runner.spent.into_inner().unwrap_or_else(PoisonError::into_inner),
    })
}

/// Settings that must not change when a run is resumed.
fn settings(
    evaluator: &Evaluator,
    suite: &Suite,
    model: &dyn LanguageModel,
    options: &RunOptions,
    numbering: Option<&str>,
) -> AgentRunSettings {
    AgentRunSettings {
        schema_version: TRAJECTORY_VERSION,
        suite: suite.record.name.clone(),
        suite_version: suite.record.version.clone(),
        model: model.name().to_owned(),
        // Steps are in the prompt, so they are part of the result. Other limits may be raised to finish a run.
        steps: options.limits.steps,
        seed: options.seed,
        prompts: options.templates.id(),
        settings: evaluator.referee().settings().clone(),
        numbering: numbering.map(str::to_owned),
    }
}

impl AttemptsState<'_> {
    /// Body of one thread: runs one attempt after the other.
    fn run_attempts(&self) {
        while !self.halt.load(Ordering::Relaxed) {
            let Some(assignment) = self.plan.assignments.get(self.next.fetch_add(1, Ordering::Relaxed)) else { break };
            self.run_one(*assignment);
        }
    }

    fn run_one(&self, assignment: PlannedAttempt<'_>) {
        let PlannedAttempt { task, attempt, styles } = assignment;
        match self.attempt(task, attempt) {
            Ok(Some(trajectory)) => {
                (self.progress)(Update::Ended(&trajectory));
                if !styles.is_empty() && !style_of(&trajectory).is_some_and(|style| styles.contains(&style)) {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
                ended.trajectories.push(trajectory);
                // Here and not at fixed times, so that a run with one job writes while it measures nothing. A fault of the disk
                // is reported at the end.
                if ended.is_due() {
                    let _ = ended.write(self.plan.suite, self.directory);
                }
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
        let plan = AttemptPlan {
            suite: &self.plan.suite.record,
            task,
            attempt,
            // The seed does not depend on the task: attempts at one task have to differ, and attempts at
            // different tasks have different prompts.
            seed: self.options.seed.wrapping_add(u64::from(attempt)),
            limits: self.options.limits,
            templates: &self.options.templates,
        };
        let directory = attempt_directory(self.directory, &task.id, attempt);
        run_attempt(plan, self.evaluator, self.model, &directory, &self.halt, &|event| {
            // Counted now and not at the end of the attempt, because the budget has to stop running attempts.
            if let JournalEvent::Reply { usage, .. } = event {
                self.spend(*usage);
            }
            (self.progress)(Update::Event { task: &task.id, event });
        })
    }

    fn spend(&self, usage: TokenUsage) {
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
        // The first reason is kept. Other threads fail for the same reason a moment later.
        self.halted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.halt.store(true, Ordering::Relaxed);
    }
}

/// Returns whether every other attempt would fail too: wrong key, unknown model, no server, broken referee.
fn is_fatal(error: &AttemptError) -> bool {
    matches!(
        error,
        AttemptError::Model(ModelError::Refused { status: 401..=404, .. } | ModelError::Unreachable { .. })
            | AttemptError::Eval(_)
            | AttemptError::Io(_)
    )
}
