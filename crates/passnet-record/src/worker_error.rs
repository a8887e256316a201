//! Errors of workers.

use serde::{Deserialize, Serialize};

/// Stage in which a worker's request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerStage {
    /// Building the graph module.
    Build,
    /// Importing a pass, tracing its pattern, or calling `replacement_func`.
    Import,
    /// Matching and rewriting.
    Rewrite,
    /// Compiling (kernels, `torch.compile`).
    Compile,
    /// Running the graph.
    Run,
    /// Making inputs or sending outputs.
    Transfer,
    /// Handling of the request itself, which was invalid.
    Protocol,
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerError {
    /// Stage of the failure.
    pub stage: WorkerStage,
    /// Python exception type, e.g. `RuntimeError`, `OutOfMemoryError`.
    pub exception: String,
    /// Message of the exception, at most 4,000 characters.
    pub message: String,
    /// Formatted traceback without frames of the harness, at most 16,000 characters.
    pub traceback: String,
    /// Rule name of the pass in which the error happened, if any.
    pub pass: Option<String>,
    /// True if the device context is broken, so that the worker must not be used again.
    pub fatal: bool,
}
