//! State of single stations, for metrics and pages.

use std::time::Duration;

use crate::job::SlotId;

/// State of a station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationView {
    /// Number of the station. A station that starts in the place of another has a new one.
    pub slot: SlotId,
    /// Name of its host; empty in a simulation.
    pub node: String,
    /// Name of its device; empty until its referee runs.
    pub device: String,
    /// `starting`, `unchecked`, `admitted`, `aside` or `ending`.
    pub state: &'static str,
    /// Reason why it takes no tasks; empty if it does.
    pub reason: String,
    /// Tasks that it can work on at a time.
    pub places: usize,
    /// Tasks that it works on.
    pub leases: usize,
    /// Tasks that it has done.
    pub finished: u64,
    /// Time of the tasks that it has done.
    pub busy: Duration,
}
