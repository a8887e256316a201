//! The process that makes one model faster.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use crate::Interpreter;

/// Options of `passnet.optimize`; `docs/reference/compile.md` describes them.
#[derive(Clone, Copy, Debug)]
pub struct OptimizeOptions<'a> {
    /// Specification of the model.
    pub model: &'a str,
    /// Directory for the pass library.
    pub out: &'a Path,
    /// Device that the model runs on, such as `cuda`.
    pub device: &'a str,
    /// Pass directories that are tried before the built-in author writes passes.
    pub passes: &'a [PathBuf],
    /// File for the report on regions.
    pub report: Option<&'a Path>,
    /// If true, the process does not print which step runs.
    pub quiet: bool,
    /// Modes of `torch.compile` that the result is compared with.
    pub modes: &'a [String],
}

impl Interpreter {
    /// Runs `passnet.optimize`, which compiles and times a model. Stdout has the result as JSON; stderr is passed on.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn optimize(&self, options: &OptimizeOptions<'_>) -> io::Result<Output> {
        let mut command = self.module("passnet.optimize");
        command.arg(options.model).arg("--out").arg(options.out).args(["--device", options.device]);
        for passes in options.passes {
            command.arg("--passes").arg(passes);
        }
        if let Some(report) = options.report {
            command.arg("--report").arg(report);
        }
        if options.quiet {
            command.arg("--quiet");
        }
        command.arg("--modes").args(options.modes).stderr(Stdio::inherit()).output()
    }
}
