//! The kinds of helper, and how they fail.

use std::{io, path::PathBuf};

/// A module of the Python package that answers questions of this program. Each variant says what the answers contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// Types of the values of a graph.
    Propagate,
    /// Types, statistics and variants of the values of a graph, which the helper runs once.
    Annotate,
    /// Numbers of kernels that prefixes of a graph compile to.
    KernelCounts,
    /// Calls in the form in which patterns are compared with them.
    Canonical,
    /// Tests that graphs give equal results without NaN in two runs.
    Prove,
    /// Times of calls of passes next to the operations that they replace.
    Confirm,
}

impl Helper {
    /// Returns the name of the Python module.
    pub const fn module(self) -> &'static str {
        match self {
            Self::Propagate => "passnet._services.propagate",
            Self::Annotate => "passnet._services.annotate",
            Self::KernelCounts => "passnet._services.kernel_counts",
            Self::Canonical => "passnet._services.canonical",
            Self::Prove => "passnet._services.prove",
            Self::Confirm => "passnet._services.confirm",
        }
    }
}

/// Reason why a helper did not answer a question.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The process cannot be started.
    #[error("cannot start {python}: {source}; set PASSNET_PYTHON to a Python with PyTorch and PassNet")]
    Start {
        python: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The process ended without an answer.
    #[error("`{python} -m {module}` ended: {message}")]
    Ended {
        python: PathBuf,
        module: &'static str,
        /// The last line that the process wrote to stderr.
        message: String,
    },
    /// The answer is not the JSON that was expected.
    #[error("`{module}` sent an invalid reply `{line}`: {message}")]
    Answer { module: &'static str, line: String, message: String },
    /// The helper could not answer this question, but is ready for the next one.
    #[error("{0}")]
    Failed(String),
}

impl HelperError {
    /// Returns whether the environment is at fault and not the question. Every other question would fail as well.
    pub const fn is_unfit(&self) -> bool {
        matches!(self, Self::Start { .. } | Self::Ended { .. })
    }
}
