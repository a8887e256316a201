//! The process that captures the graphs of models.

use std::{
    io::{self, Write as _},
    path::Path,
    process::{Child, Stdio},
};

use crate::Interpreter;

/// Options of `passnet.extract`; `docs/reference/extract.md` describes them.
#[derive(Clone, Copy, Debug)]
pub struct CaptureOptions<'a> {
    /// Specifications of models.
    pub models: &'a [String],
    /// Directory for the samples.
    pub out: &'a Path,
    /// Models to skip.
    pub done: &'a [&'a str],
    /// Check that each sample has to pass: `read` or `shapes`.
    pub verify: &'a str,
    /// Seed of weights, inputs and the sample of models.
    pub seed: u64,
    /// Wall-clock limit of one model in seconds.
    pub timeout: f64,
    /// Memory of one model in GiB.
    pub memory_gib: f64,
    /// Parameters above which a model is reduced.
    pub max_parameters: f64,
    /// Models at a time.
    pub jobs: Option<usize>,
    /// Number of models to draw at random.
    pub sample: Option<usize>,
}

impl Interpreter {
    /// Starts the capture. Its standard output, which is piped, has one JSON object per line.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn start_capture(&self, options: &CaptureOptions<'_>) -> io::Result<Child> {
        let mut capture = self.module("passnet.extract");
        capture.args(options.models).arg("--out").arg(options.out).arg("--skip");
        capture.args(["--verify", options.verify, "--seed", &options.seed.to_string()]);
        capture.args(["--timeout", &options.timeout.to_string(), "--memory-gib", &options.memory_gib.to_string()]);
        capture.args(["--max-parameters", &options.max_parameters.to_string()]);
        for (flag, value) in [("--jobs", options.jobs), ("--sample", options.sample)] {
            if let Some(value) = value {
                capture.args([flag, &value.to_string()]);
            }
        }
        let mut child = capture.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A process that ended early says why itself.
            let _ = stdin.write_all(options.done.join("\n").as_bytes());
        }
        Ok(child)
    }
}
