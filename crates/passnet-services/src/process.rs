//! A running helper.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom, Write},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use crate::{Helper, HelperError, Interpreter};

/// Environment variables with access tokens of the Hugging Face hub.
const TOKENS: [&str; 2] = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"];

/// A process that answers each line with a line. Dropping the value kills the process.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    stderr: File,
    pub(crate) answered: u32,
}

impl Process {
    pub(crate) fn start(
        interpreter: &Interpreter,
        helper: Helper,
        memory_bytes: Option<u64>,
    ) -> Result<Self, HelperError> {
        let failed = |source| HelperError::Start { python: interpreter.python.clone(), source };
        // A file and not a pipe, because nothing reads stderr while a helper works, and a full pipe would stop it.
        let stderr = tempfile::tempfile().map_err(failed)?;
        let mut command = interpreter.module(helper.module());
        // A helper runs the code of graphs, which must not see the tokens of the user.
        for name in TOKENS {
            command.env_remove(name);
        }
        if let Some(bytes) = memory_bytes {
            command.arg("--memory-bytes").arg(bytes.to_string());
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr.try_clone().map_err(failed)?)
            // Ctrl-C goes to the process group of this program, which finishes running work. Helpers are in another group and continue.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(replies)) => {
                Ok(Self { child, requests, replies: BufReader::new(replies), stderr, answered: 0 })
            }
            _ => Err(failed(io::Error::other("a pipe is missing"))),
        }
    }

    /// Writes a line and reads one; `None` if the process has ended.
    pub(crate) fn exchange(&mut self, request: &str) -> Option<String> {
        writeln!(self.requests, "{request}").ok()?;
        let mut line = String::new();
        let read = self.replies.read_line(&mut line).ok()?;
        self.answered += 1;
        (read > 0).then_some(line)
    }

    /// Returns the last line on stderr: Python's traceback ends in the error.
    pub(crate) fn last_output(&mut self) -> String {
        let mut bytes = Vec::new();
        let read = self.stderr.seek(SeekFrom::Start(0)).and_then(|_| self.stderr.read_to_end(&mut bytes));
        let text = read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        last.unwrap_or("it wrote nothing to stderr").to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // These calls fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
