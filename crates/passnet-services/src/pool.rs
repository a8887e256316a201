//! Helpers of one kind, started when they are needed.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use passnet_record::services::{EmptyQuestion, OVER_MEMORY};
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;

use crate::{Helper, HelperError, Interpreter, process::Process};

/// Default limit of the processes of a pool. It is small because each process holds PyTorch in memory.
const MAX_PROCESSES: usize = 8;
/// Number of answers after which a process is replaced, because compilers cache all graphs that they have seen.
const ANSWERS: u32 = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Largest number of processes at the same time, at least 1.
    pub processes: usize,
    /// Bytes of memory that one question may take, in addition to those of PyTorch; `None` for no limit. The error of a question that
    /// needs more begins with [`OVER_MEMORY`].
    pub memory_bytes: Option<u64>,
}

impl Default for PoolLimits {
    /// Returns limits of one process for each core, at most eight, and unlimited memory.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { processes: cores.min(MAX_PROCESSES), memory_bytes: None }
    }
}

/// Helpers of one kind. Questions come from any number of threads.
///
/// A helper is started if all others are busy. It imports PyTorch first, which takes seconds of a core, and most questions take
/// milliseconds. At most as many helpers start at the same time as there are ready ones, so that a few short questions wait for one helper
/// instead of starting one each, and many long ones have all helpers after a few rounds.
#[derive(Debug)]
pub struct HelperPool {
    interpreter: Interpreter,
    helper: Helper,
    limits: PoolLimits,
    processes: Mutex<Processes>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct Processes {
    idle: Vec<Process>,
    busy: usize,
    /// Number of the busy ones that have not answered yet.
    starting: usize,
}

impl Processes {
    /// Returns whether another process may be started where at most `width` may run.
    fn may_start(&self, width: usize) -> bool {
        self.busy < width && self.starting < (self.busy - self.starting).max(1)
    }
}

impl HelperPool {
    /// Returns a pool without processes yet, with the default limits.
    pub fn new(interpreter: Interpreter, helper: Helper) -> Self {
        Self::with_limits(interpreter, helper, PoolLimits::default())
    }

    /// Returns a pool without processes yet.
    pub fn with_limits(interpreter: Interpreter, helper: Helper, limits: PoolLimits) -> Self {
        Self { interpreter, helper, limits, processes: Mutex::default(), returned: Condvar::new() }
    }

    /// Returns the number of questions that are answered at the same time.
    pub fn width(&self) -> usize {
        self.limits.processes.max(1)
    }

    /// Asks one question. The question and the reply are JSON objects. A reply with a field `error` becomes [`HelperError::Failed`].
    ///
    /// # Errors
    /// If no helper can be started, the helper ends, or it cannot answer the question.
    pub fn ask<Reply: DeserializeOwned>(&self, question: &impl Serialize) -> Result<Reply, HelperError> {
        let module = self.helper.module();
        let answer_error =
            |line: &str, message: String| HelperError::Answer { module, line: line.trim().to_owned(), message };
        let question = serde_json::to_string(question).map_err(|error| answer_error("", error.to_string()))?;
        // The lease returns the process to the pool only if it is put back below. After an error it is dropped, and
        // with it the process.
        let mut turn = self.turn();
        let mut process = match turn.process.take() {
            Some(process) => process,
            None => Process::start(&self.interpreter, self.helper, self.limits.memory_bytes)?,
        };
        let Some(line) = process.exchange(&question) else {
            let python = self.interpreter.python.clone();
            return Err(HelperError::Ended { python, module, message: process.last_output() });
        };
        let mut reply: Value = serde_json::from_str(&line).map_err(|error| answer_error(&line, error.to_string()))?;
        // A process that wrote an invalid reply is not asked again, and neither is one over the memory limit: it may keep the memory that
        // it has taken.
        let is_over = reply["error"].as_str().is_some_and(|error| error.starts_with(OVER_MEMORY));
        if process.answered < ANSWERS && !is_over {
            turn.process = Some(process);
        }
        drop(turn);
        match reply.get_mut("error").map(Value::take) {
            None | Some(Value::Null) => {
                serde_json::from_value(reply).map_err(|error| answer_error(&line, error.to_string()))
            }
            Some(error) => Err(HelperError::Failed(error.as_str().map_or_else(|| error.to_string(), str::to_owned))),
        }
    }

    /// Starts a helper, if none runs, and waits until it answers.
    ///
    /// # Errors
    /// If no helper can run in this environment.
    pub fn probe(&self) -> Result<(), HelperError> {
        // No helper can answer an empty question, but a running helper replies with an error.
        match self.ask::<IgnoredAny>(&EmptyQuestion {}) {
            Err(error) if error.is_unfit() => Err(error),
            _ => Ok(()),
        }
    }

    fn processes(&self) -> MutexGuard<'_, Processes> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a process is idle or another one may be started.
    fn turn(&self) -> ProcessLease<'_> {
        let mut processes = self.processes();
        while processes.idle.is_empty() && !processes.may_start(self.width()) {
            processes = self.returned.wait(processes).unwrap_or_else(PoisonError::into_inner);
        }
        processes.busy += 1;
        let process = processes.idle.pop();
        processes.starting += usize::from(process.is_none());
        ProcessLease { pool: self, is_starting: process.is_none(), process }
    }
}

/// The right to use a process. When the lease is dropped, the process returns to the pool.
struct ProcessLease<'a> {
    pool: &'a HelperPool,
    process: Option<Process>,
    /// True if a process is started with this lease.
    is_starting: bool,
}

impl Drop for ProcessLease<'_> {
    fn drop(&mut self) {
        let mut processes = self.pool.processes();
        // The place is free again even if the lease has no process. A waiting thread may then start a new process.
        processes.busy -= 1;
        processes.starting -= usize::from(self.is_starting);
        processes.idle.extend(self.process.take());
        // One waiting thread takes this process, and the end of a start allows others to start processes.
        self.pool.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    /// A package whose helper replies with the question itself, refuses the question `refuse`, and ends at the question `end`.
    const ECHO: &str = "\
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    if question.get('end'):
        raise ModuleNotFoundError(\"No module named 'torch'\")
    if question.get('limit'):
        question = {'error': 'over the memory limit: ' + ' '.join(sys.argv[1:])}
    elif question.get('refuse'):
        question = {'error': 'refused'}
    print(json.dumps(question), flush=True)
";

    fn pool(site: &Path) -> Option<HelperPool> {
        let package = site.join("passnet/_services");
        std::fs::create_dir_all(&package).unwrap();
        for file in ["passnet/__init__.py", "passnet/_services/__init__.py"] {
            std::fs::write(site.join(file), "").unwrap();
        }
        std::fs::write(package.join("prove.py"), ECHO).unwrap();
        let interpreter = Interpreter { site: Some(site.to_owned()), ..Interpreter::find() };
        let runs = interpreter.module(Helper::Prove.module()).output().is_ok();
        if !runs {
            println!("skipped: `{}` does not run; set PASSNET_PYTHON", interpreter.python.display());
        }
        let limits = PoolLimits { processes: 1, memory_bytes: Some(4_096) };
        runs.then(|| HelperPool::with_limits(interpreter, Helper::Prove, limits))
    }

    #[test]
    fn a_helper_answers_refuses_and_is_replaced_when_it_ends() {
        let site = tempfile::tempdir().unwrap();
        let Some(pool) = pool(site.path()) else { return };
        let ask = |question: Value| pool.ask::<Value>(&question);
        assert_eq!(ask(json!({"a": 1})).unwrap(), json!({"a": 1}));
        let refused = ask(json!({"refuse": true})).unwrap_err();
        assert!(matches!(&refused, HelperError::Failed(message) if message == "refused"), "{refused}");
        assert!(!refused.is_unfit());
        assert_eq!(pool.processes().idle.len(), 1, "the process that refused is kept");
        let limited = ask(json!({"limit": true})).unwrap_err().to_string();
        assert!(limited.starts_with(OVER_MEMORY) && limited.ends_with("--memory-bytes 4096"), "{limited}");
        assert_eq!(pool.processes().idle.len(), 0, "the process that ran out of memory is not kept");
        assert!(pool.probe().is_ok());
        let ended = ask(json!({"end": true})).unwrap_err();
        assert!(ended.is_unfit() && ended.to_string().contains("No module named 'torch'"), "{ended}");
        assert_eq!(ask(json!({"b": 2})).unwrap(), json!({"b": 2}));
    }

    #[test]
    fn short_questions_wait_for_the_first_helper_and_long_ones_start_more() {
        let check = |busy, starting, width, expected| {
            let processes = Processes { idle: Vec::new(), busy, starting };
            assert_eq!(
                processes.may_start(width),
                expected,
                "{busy} busy, {starting} of them starting, {width} at most"
            );
        };
        check(0, 0, 8, true);
        check(1, 1, 8, false);
        check(1, 0, 8, true);
        check(2, 1, 8, false);
        check(2, 0, 8, true);
        check(3, 1, 8, true);
        check(4, 2, 8, false);
        check(8, 0, 8, false);
        check(1, 0, 1, false);
    }

    #[test]
    fn questions_of_many_threads_start_few_helpers() {
        let site = tempfile::tempdir().unwrap();
        let Some(pool) = pool(site.path()) else { return };
        let pool = HelperPool { limits: PoolLimits::default(), ..pool };
        std::thread::scope(|scope| {
            for number in 0..16 {
                let pool = &pool;
                scope
                    .spawn(move || assert_eq!(pool.ask::<Value>(&json!({"a": number})).unwrap(), json!({"a": number})));
            }
        });
        let processes = pool.processes();
        assert_eq!((processes.busy, processes.starting), (0, 0));
        assert!((1..=pool.width()).contains(&processes.idle.len()));
    }

    #[test]
    fn a_missing_interpreter_is_named() {
        let interpreter = Interpreter { python: "/nonexistent/python".into(), site: None };
        let pool = HelperPool::new(interpreter, Helper::Prove);
        let error = pool.ask::<Value>(&json!({})).unwrap_err();
        assert!(error.is_unfit() && error.to_string().contains("/nonexistent/python"), "{error}");
        assert!(pool.probe().is_err_and(|error| error.is_unfit()));
    }
}
