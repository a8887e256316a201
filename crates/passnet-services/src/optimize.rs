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
    /// Device of the model.
    pub device: &'a str,
    /// Pass directories that are tried before the author.
    pub passes: &'a [PathBuf],
    /// File for the report on regions.
    pub report: Option<&'a Path>,
    /// Modes of `torch.compile` to compare with.
    pub modes: &'a [String],
}

impl Interpreter {
    /// Compiles and times a model. Standard output has the result as JSON, standard error is passed on.
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
        command.arg("--modes").args(options.modes).stderr(Stdio::inherit()).output()
    }
}
