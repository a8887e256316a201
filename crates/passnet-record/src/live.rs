//! Runs that are not finished, as `passnet serve` reports them at `/live.json` (`docs/reference/pages.md`).

use serde::{Deserialize, Serialize};

/// Version of [`LiveData`].
pub const LIVE_VERSION: u32 = 1;

/// Answer of `/live.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveData {
    /// [`LIVE_VERSION`] of the server.
    pub schema_version: u32,
    /// Runs, in descending order of their start.
    pub runs: Vec<LiveRunData>,
    /// Content of the page, for its script.
    pub html: String,
}

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveRunData {
    /// Name of the run.
    pub run: String,
    /// Author, as the command line names it.
    pub author: String,
    /// Name of the suite.
    pub suite: String,
    pub suite_version: String,
    pub state: LiveState,
    /// Graphs of the run.
    pub graphs: usize,
    /// Graphs with a verdict.
    pub done: usize,
    /// Graphs whose verdict is `correct`.
    pub correct: usize,
    /// Graphs whose verdict is a failure.
    pub failures: usize,
    /// Verdicts per second since the last start of the run; `None` before the first verdict.
    pub graphs_per_second: Option<f64>,
    /// Estimated seconds until the end; `None` if the run makes no progress.
    pub left_s: Option<f64>,
    /// The fleet, if one works on the run.
    pub fleet: Option<LiveFleet>,
}

/// State of a run that the live page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// State of a station of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveStation {
    /// Name of its host.
    pub node: String,
    /// Name of its device; empty until it runs.
    pub device: String,
    /// State, such as `admitted` or `aside`.
    pub state: String,
    /// Reason why the station takes no tasks; empty if it takes tasks.
    pub reason: String,
    /// Number of tasks that the station can work on at the same time.
    pub places: usize,
    /// Number of tasks that the station works on.
    pub leases: usize,
    /// Number of tasks that the station has finished.
    pub finished: usize,
}

/// State of the fleet that works on a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveFleet {
    /// Number of stations that take tasks.
    pub admitted: usize,
    /// Number of stations that are starting.
    pub starting: usize,
    /// Number of stations that are set aside, are being checked, or are ending.
    pub aside: usize,
    /// Number of tasks that the admitted stations can work on at the same time.
    pub places: usize,
    /// Number of tasks that stations work on.
    pub leases: usize,
    /// Number of tasks that wait for a station.
    pub waiting: usize,
    /// Each station, in the order of their numbers.
    pub stations: Vec<LiveStation>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_version_1_are_read() {
        let text = r#"{"schema_version": 1, "html": "<p>", "runs": [{"run": "a", "author": "fuse", "suite": "s", "suite_version": "1",
            "state": "interrupted", "graphs": 3, "done": 2, "correct": 1, "failures": 1, "graphs_per_second": null, "left_s": null,
            "fleet": {"admitted": 1, "starting": 0, "aside": 0, "places": 1, "leases": 0, "waiting": 2, "stations": [{"node": "n",
            "device": "cpu", "state": "admitted", "reason": "", "places": 1, "leases": 0, "finished": 4}]}}]}"#;
        let data: LiveData = serde_json::from_str(text).unwrap();
        assert_eq!(data.runs[0].state, LiveState::Interrupted);
        assert_eq!(serde_json::to_value(&data).unwrap(), serde_json::from_str::<serde_json::Value>(text).unwrap());
    }
}
