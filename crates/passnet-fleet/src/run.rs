//! Input, progress and outcome of a run over a fleet.

use std::{sync::atomic::AtomicBool, time::Duration};

use passnet_record::{RunHeader, RunSettings, Verdict};
use passnet_run::Suite;

use crate::{
    bridge::BridgeConfig,
    event::{Counts, Policy},
    ledger::AuthorRun,
    view::StationView,
};

/// Options of a run over a fleet.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// Rules of the scheduler.
    pub policy: Policy,
    /// Evaluations at a time on one station; `None` for the default of the device.
    pub jobs: Option<usize>,
    /// Cores of a station; 0 for any.
    pub cores: usize,
    /// Longest time without a station that can work.
    pub patience: Duration,
    pub bridge: BridgeConfig,
}

/// Progress of a run.
#[derive(Debug)]
pub enum FleetProgress<'a> {
    /// An author's verdict on a graph is in the log.
    Verdict {
        /// Number of the author.
        author: usize,
        verdict: &'a Verdict,
        /// True if the log already had the verdict.
        reused: bool,
        /// Graphs that have their verdicts now.
        done: usize,
        /// Graphs in all.
        total: usize,
    },
    /// State of the fleet, at most once a second.
    State {
        /// Numbers of the scheduler.
        counts: Counts,
        /// Graphs that have their verdicts now.
        graphs: usize,
        /// State of each station.
        stations: &'a [StationView],
    },
    /// Remark for people, such as a station that was set aside.
    Note(String),
}

/// A run over a fleet.
pub struct FleetRun<'a> {
    pub suite: &'a Suite,
    /// Authors, each with a separate log.
    pub authors: &'a [AuthorRun],
    /// Settings of every evaluation.
    pub settings: &'a RunSettings,
    pub options: &'a FleetOptions,
    /// Ends the run early when it becomes true. Current graphs are finished.
    pub stop: &'a AtomicBool,
    /// Called for each step.
    pub progress: &'a dyn Fn(FleetProgress<'_>),
}

/// Outcome of a run.
#[derive(Clone, Debug)]
pub struct FleetOutcome {
    /// Header and verdicts of each author.
    pub runs: Vec<(RunHeader, Vec<Verdict>)>,
    /// True if every graph has its verdicts.
    pub complete: bool,
    /// Number of verdicts that the logs had.
    pub reused: usize,
}
