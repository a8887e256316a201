//! Python processes that answer the questions of dataset stages.

use std::{
    io::{self, BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::{Mutex, PoisonError},
};

use passnet_dataset::annotate::Runner;
use passnet_eval::python::Interpreter;
use serde_json::Value;

/// Processes of one module of the package, started when they are needed and as many as ask at once.
pub(super) struct Processes {
    module: &'static str,
    interpreter: Interpreter,
    idle: Mutex<Vec<Process>>,
}

struct Process {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    answered: u32,
}

/// A process is replaced after this many answers: compilers keep what they have seen.
const ANSWERS: u32 = 2_000;

impl Processes {
    pub(super) fn of(module: &'static str) -> Self {
        Self { module, interpreter: Interpreter::find(), idle: Mutex::new(Vec::new()) }
    }

    fn start(&self) -> io::Result<Process> {
        let mut command = self.interpreter.module(self.module);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(replies)) => {
                Ok(Process { child, requests, replies: BufReader::new(replies), answered: 0 })
            }
            _ => Err(io::Error::other("a pipe is missing")),
        }
    }
}

impl Process {
    /// One line in, one line out; `None` if the process is gone.
    fn exchange(&mut self, request: &Value) -> Option<String> {
        writeln!(self.requests, "{request}").ok()?;
        let mut line = String::new();
        let read = self.replies.read_line(&mut line).ok()?;
        self.answered += 1;
        (read > 0).then_some(line)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already; either way it is not waited for longer than that takes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Runner for Processes {
    fn ask(&self, request: &Value) -> Result<Value, String> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let started = || {
            let python = self.interpreter.python.display();
            self.start().map_err(|error| format!("cannot start {python}: {error}; set PASSNET_PYTHON"))
        };
        let mut process = idle.map_or_else(started, Ok)?;
        let module = self.module;
        let line = process
            .exchange(request)
            .ok_or_else(|| format!("`{module}` ended; run `python -m {module}` to see why"))?;
        let mut reply: Value =
            serde_json::from_str(&line).map_err(|error| format!("`{module}` answered `{line}`: {error}"))?;
        if process.answered < ANSWERS {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        }
        match reply["error"].take() {
            Value::Null => Ok(reply),
            error => Err(error.as_str().map_or_else(|| error.to_string(), str::to_owned)),
        }
    }
}
