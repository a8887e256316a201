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
    /// Specifications of the models to capture.
    pub models: &'a [String],
    /// Directory for the samples.
    pub out: &'a Path,
    /// Specifications of models to skip, because they were captured before.
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
    /// Number of models that are captured at the same time; `None` for the default of `passnet.extract`.
    pub jobs: Option<usize>,
    /// Number of models to draw at random; `None` for all.
    pub sample: Option<usize>,
}

impl Interpreter {
    /// Starts the capture process. Its stdout is piped and has one JSON object per line.
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
            // Writing fails only if the process ended early, and then its own output says why.
            let _ = stdin.write_all(options.done.join("\n").as_bytes());
        }
        Ok(child)
    }
}
