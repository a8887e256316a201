//! Runs that are not finished, as the live page shows them.

use passnet_record::{
    GraphId, RunHeader, Status,
    live::{LiveFleet, LiveState},
};

/// A failure of a run that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFailure {
    pub id: GraphId,
    pub status: Status,
    /// Code of the reason; empty without one.
    pub code: String,
}

/// A run that is not finished, or finished a short time ago.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveRun {
    pub header: RunHeader,
    pub state: LiveState,
    /// Graphs with a verdict.
    pub done: usize,
    /// Graphs whose verdict is `correct`.
    pub correct: usize,
    /// Graphs whose verdict is a failure.
    pub failures: usize,
    /// The last failures, newest first.
    pub last_failures: Vec<LiveFailure>,
    /// Verdicts per second since the run was last started; `None` before the first.
    pub rate: Option<f64>,
    /// Seconds since the log last grew.
    pub quiet_s: f64,
    /// The fleet, if one works on the run.
    pub fleet: Option<LiveFleet>,
}

impl LiveRun {
    /// Number of graphs without a verdict.
    pub fn left(&self) -> usize {
        self.header.graphs.saturating_sub(self.done)
    }

    /// Seconds until the run is finished at its present rate; `None` if it is not running or the rate is not known.
    pub fn left_s(&self) -> Option<f64> {
        let rate = self.rate.filter(|&rate| rate > 0.0 && self.state == LiveState::Running)?;
        Some(self.left() as f64 / rate)
    }
}
