//! Runs that are not finished, as the live page shows them.

use passnet_record::{GraphId, RunHeader, Status};

/// State of a run that the live page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveState {
    /// A process writes the log.
    Running,
    /// No process writes the log, and graphs are left.
    Interrupted,
    /// Finished a short time ago.
    Finished,
}

impl LiveState {
    /// Returns the name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Finished => "finished",
        }
    }
}

/// A failure of a run that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFailure {
    pub id: GraphId,
    pub status: Status,
    /// Code of the reason; empty without one.
    pub code: String,
}

/// State of a station of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveStation {
    /// Name of its host.
    pub node: String,
    /// Name of its device; empty until it runs.
    pub device: String,
    /// State, such as `admitted` or `aside`.
    pub state: String,
    /// Reason why it takes no tasks; empty if it does.
    pub reason: String,
    /// Tasks that it can work on at once.
    pub places: usize,
    /// Tasks that it works on.
    pub leases: usize,
    /// Tasks that it has done.
    pub finished: usize,
}

/// State of the fleet that works on a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveFleet {
    /// Stations that take tasks.
    pub admitted: usize,
    /// Stations that start.
    pub starting: usize,
    /// Stations that are set aside, are checked or end.
    pub aside: usize,
    /// Tasks that the admitted stations can work on at once.
    pub places: usize,
    /// Tasks that stations work on.
    pub leases: usize,
    /// Tasks that wait for a station.
    pub waiting: usize,
    /// Each station, in the order of their numbers.
    pub stations: Vec<LiveStation>,
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
