//! Data that a stage leaves out, with the reason.

use crate::store::TableError;

/// Data that a stage could not use and left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedData {
    /// Path of a sample, id of a task, or path of a file of the store.
    pub what: String,
    /// Description of the problem and of how to fix it.
    pub message: String,
}

impl SkippedData {
    /// Returns the failure for a part of a table.
    pub fn of_store(error: &TableError) -> Self {
        Self { what: error.path().display().to_string(), message: error.to_string() }
    }
}
