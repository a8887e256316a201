//! The process that makes one model faster.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
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
    /// Pass directories that are tried before the author writes passes.
    pub passes: &'a [PathBuf],
    /// Author of passes for the rest: `fuse` or `none`.
    pub author: &'a str,
    /// Description of the passes of a language model, which are tried after those of `passes`.
    pub authored: Option<&'a Path>,
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
        self.optimization(options).stderr(Stdio::inherit()).output()
    }

    /// Writes the parts of the model that are worth a pass to a directory, as tasks. Stdout has their description as JSON; stderr is
    /// passed on. Tasks that an earlier call has written stay as they are.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn model_tasks(&self, options: &OptimizeOptions<'_>, directory: &Path) -> io::Result<Output> {
        self.optimization(options).arg("--tasks").arg(directory).stderr(Stdio::inherit()).output()
    }

    fn optimization(&self, options: &OptimizeOptions<'_>) -> Command {
        let mut command = self.module("passnet.optimize");
        command.arg(options.model).arg("--out").arg(options.out);
        command.args(["--device", options.device, "--author", options.author]);
        for passes in options.passes {
            command.arg("--passes").arg(passes);
        }
        for (flag, file) in [("--report", options.report), ("--authored", options.authored)] {
            if let Some(file) = file {
                command.arg(flag).arg(file);
            }
        }
        if options.quiet {
            command.arg("--quiet");
        }
        command.arg("--modes").args(options.modes);
        command
    }
}
