//! The interface of authors.

use std::{io, path::Path, sync::atomic::AtomicBool, time::Duration};

use passnet_eval::{EvalError, Referee};
use passnet_record::{AuthorSpec, Device, FilePathError, ORDER_FILE, PassDirectory, SuiteTask, WritingCost};
use passnet_run::Suite;
use passnet_services::{PropagateError, cpp_compiler};

use crate::pass_files::PassDirError;

/// Author of pass directories, or of a name that evaluation understands, such as that of a compiler.
pub trait Author: Send + Sync {
    /// Returns the name as it is recorded in a run.
    fn spec(&self) -> &AuthorSpec;

    /// Returns the code that evaluation runs for this author.
    fn runs(&self) -> Runs;

    /// Returns whether equal tasks get equal pass directories.
    fn is_deterministic(&self) -> bool {
        true
    }

    /// Returns the cost of the last [`Self::write`]; `None` for an author that is not a language model.
    fn cost(&self) -> Option<WritingCost> {
        None
    }

    /// Checks that the author can work on a device, before anything is started or written.
    ///
    /// # Errors
    /// [`AuthorError::Unfit`] if this machine lacks something, [`AuthorError::Directory`] if the author's passes do not exist.
    fn check(&self, device: Device) -> Result<(), AuthorError> {
        let _ = device;
        Ok(())
    }

    /// Prepares a whole suite: does the work that tasks share, or that is done for many tasks at once. Called once, before
    /// [`Self::write`].
    ///
    /// # Errors
    /// If no task of the suite can be written.
    fn prepare(&mut self, suite: &Suite, context: &AuthorContext<'_>) -> Result<(), AuthorError> {
        let _ = (suite, context);
        Ok(())
    }

    /// Writes the passes of one task. Called only for authors whose [`Self::runs`] is [`Runs::Passes`].
    ///
    /// # Errors
    /// [`AuthorError::Refused`] concerns this task only. Every other error ends the run.
    fn write(&self, task: &TaskGraphs<'_>) -> Result<PassDirectory, AuthorError> {
        let _ = task;
        Ok(PassDirectory::empty())
    }
}

/// Code that evaluation runs for an author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runs {
    /// The graph by eager PyTorch.
    Graph,
    /// The path of passes without any pass.
    Path,
    /// TorchInductor, in a mode of `torch.compile`.
    Inductor {
        /// The `mode` argument.
        mode: String,
    },
    /// Another compiler, called through a Python function.
    Compiler {
        /// Name of the file of `python/passnet/_compilers`, or path of the user's file.
        name: String,
        /// Text of the user's file; empty for a compiler of PassNet.
        source: String,
    },
    /// The passes that [`Author::write`] returns.
    Passes,
}

/// Fails if this machine cannot compile the C++ kernels of an author.
///
/// # Errors
/// [`AuthorError::NoCompiler`].
pub(crate) fn check_compiler(author: &AuthorSpec, device: Device) -> Result<(), AuthorError> {
    match cpp_compiler() {
        Err(problem) if device.is_cpu() => Err(AuthorError::NoCompiler { author: author.clone(), problem }),
        _ => Ok(()),
    }
}

/// Options of a command for the author that it creates. Each author uses the options that concern it.
#[derive(Clone, Debug, Default)]
pub struct AuthorOptions {
    /// Time limit for measuring unknown kernels before passes are written.
    pub tuning: Option<Duration>,
    /// If true, times each pass against eager mode, and drops passes that are slower.
    pub confirms: bool,
}

/// Environment in which an author works.
pub struct AuthorContext<'a> {
    /// Referee that evaluates candidates for the author, and knows the device and the interpreter.
    pub referee: &'a Referee,
    /// Directory of the run. An author keeps its own files in a subdirectory with the name of its kind.
    pub directory: &'a Path,
    /// Becomes true when the author has to stop.
    pub stop: &'a AtomicBool,
    /// Called with a short text at each step.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

/// A task of a suite. `suite.visible(record)` returns the graphs that an author may see.
#[derive(Clone, Copy, Debug)]
pub struct TaskGraphs<'a> {
    pub suite: &'a Suite,
    pub record: &'a SuiteTask,
}

#[derive(Debug, thiserror::Error)]
pub enum AuthorError {
    /// The name is not known.
    #[error("unknown author `{name}`; known are {known}")]
    Unknown {
        /// The name as given.
        name: String,
        /// Known names, with a placeholder for arguments.
        known: String,
    },
    /// The argument of the name is missing, unexpected, or not one of those allowed.
    #[error("author `{kind}` {expected}, got `{got}`")]
    Argument {
        /// The name before the colon.
        kind: &'static str,
        /// Description of the expected argument, as part of a sentence.
        expected: String,
        /// The argument as given.
        got: String,
    },
    /// The passes of a task do not form a valid pass directory.
    #[error("{0}")]
    Refused(String),
    /// A language model was named without its server.
    #[error("a language model works on tasks in `passnet agent run` or `passnet bench run`")]
    NeedsModelServer,
    /// The C++ compiler for the author's kernels does not work.
    #[error("author `{author}` writes C++ kernels, and {problem}")]
    NoCompiler { author: AuthorSpec, problem: String },
    /// This machine cannot run the author.
    #[error("author `{author}` cannot run on {device}: {problem}")]
    Unfit { author: AuthorSpec, device: Device, problem: String },
    /// No task would get a pass.
    #[error(
        "{0}: names no pass for these tasks; list rule names in {ORDER_FILE} there, or in a folder for each task (`passnet new TASK --out DIR` writes one)"
    )]
    NoPasses(String),
    /// A pass directory cannot be read.
    #[error(transparent)]
    Directory(#[from] PassDirError),
    /// A file has a path that is not allowed in a pass directory.
    #[error(transparent)]
    Path(#[from] FilePathError),
    /// The types of graphs cannot be inferred.
    #[error(transparent)]
    Propagate(#[from] PropagateError),
    /// The tuning database has no folder.
    #[error("no cache folder for the tuning database; set PASSNET_CACHE, XDG_CACHE_HOME or HOME")]
    NoCache,
    /// A trial evaluation failed for a reason other than the candidate.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The operating system reported an error on reading or writing.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The author has not finished; the same run continues where it stopped.
    #[error("{0}; run the same command again to continue")]
    Interrupted(String),
    /// Any other error of an author from another crate.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}
