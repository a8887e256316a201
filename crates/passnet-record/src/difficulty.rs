//! Difficulty of tasks on a device (`docs/reference/suites.md`).

use serde::{Deserialize, Serialize};

/// Version of [`TaskDifficulty`].
pub const DIFFICULTY_VERSION: u32 = 1;

/// Longest part of the least time of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DifficultyBound {
    /// The launch of one kernel.
    Launch,
    /// Reading of all inputs, and writing of all outputs.
    Memory,
    /// Arithmetic of products, convolutions and attention.
    Compute,
}

impl DifficultyBound {
    /// All bounds.
    pub const ALL: [Self; 3] = [Self::Launch, Self::Memory, Self::Compute];

    /// Returns the name in files and in the dataset card.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Memory => "memory",
            Self::Compute => "compute",
        }
    }
}

/// Least time of the first graph of a task, and measured times, in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskDifficulty {
    /// Version of this record.
    pub schema_version: u32,
    /// Name of the suite.
    pub suite: String,
    /// Id of the task.
    pub task: String,
    /// Longest part of the least time.
    pub bound: DifficultyBound,
    /// Least time.
    pub bound_us: f64,
    /// Time in eager mode, without that of an empty call; absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eager_us: Option<f64>,
    /// The same with Inductor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inductor_us: Option<f64>,
}
