//! A run over a fleet: what it takes and what comes of it.

use std::{sync::atomic::AtomicBool, time::Duration};

use passnet_record::{RunHeader, RunSettings, Verdict};
use passnet_run::Suite;

use crate::{
    bridge::BridgeConfig,
    event::{Counts, Policy},
    ledger::AuthorRun,
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
    /// The bridge.
    pub bridge: BridgeConfig,
}

/// Progress of a run.
#[derive(Debug)]
pub enum FleetProgress<'a> {
    /// An author's verdict on a graph is in the log.
    Verdict {
        /// The verdict.
        verdict: &'a Verdict,
        /// It was in the log already.
        reused: bool,
        /// Graphs that have their verdicts now.
        done: usize,
        /// Graphs in all.
        total: usize,
    },
    /// State of the fleet, now and then.
    State {
        /// Numbers of the scheduler.
        counts: Counts,
        /// Graphs that have their verdicts now.
        graphs: usize,
    },
    /// Something that a person may want to know.
    Note(String),
}

/// A run over a fleet.
pub struct FleetRun<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// Authors, each with a log of its own.
    pub authors: &'a [AuthorRun],
    /// Settings of every evaluation.
    pub settings: &'a RunSettings,
    /// Options.
    pub options: &'a FleetOptions,
    /// Ends the run early, after the graphs in work, when it becomes true.
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
