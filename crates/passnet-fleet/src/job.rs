//! Names of things that the scheduler deals with.

use serde::{Deserialize, Serialize};

/// A station: one referee on one device. A station that is started again has another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(pub u64);

/// A task to evaluate, or an action of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// The right of a job to a station, until it is done or the station is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub u64);

/// Order in which jobs get devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// A trainer waits for the result.
    Training,
    /// A run over a suite.
    Batch,
}

impl Priority {
    /// All priorities, the highest first.
    pub const ALL: [Self; 2] = [Self::Training, Self::Batch];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Batch => "batch",
        }
    }
}
