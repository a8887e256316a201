//! Events and actions of the scheduler, and its rules.

use std::time::Duration;

use crate::{
    health::{HealthCheck, HealthPolicy, Illness},
    job::{JobId, LeaseId, SlotId},
    queue::Quota,
};

/// Rules of the scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Limits of each client.
    pub quota: Quota,
    /// Health of devices.
    pub health: HealthPolicy,
    /// Number of stations that may be lost or fail under one job before the job is given up.
    pub attempts: u32,
    /// Longest time without a message from a station that works or starts.
    pub silence: Duration,
    /// Time until the next check after the first bad one. It doubles with each further bad check, up to 64 times this value.
    pub aside: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            quota: Quota::default(),
            health: HealthPolicy::default(),
            // High enough for nodes that are preempted often, low enough that a job which kills its device
            // does not visit the whole fleet.
            attempts: 8,
            // Longer than the evaluation of one graph may take; verdicts are the messages of a station at
            // work.
            silence: Duration::from_secs(900),
            aside: Duration::from_secs(30),
        }
    }
}

/// Event that the scheduler reacts to.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A station was started.
    Joined(SlotId),
    /// The referee of a station runs.
    Ready {
        slot: SlotId,
        /// Number of leases that it can work on at a time.
        capacity: usize,
        /// Reason why this run cannot use it at all.
        foreign: Option<String>,
    },
    /// A station was lost.
    Lost(SlotId),
    /// A station reported progress on a lease.
    Progress(LeaseId),
    /// A job is done.
    Finished(LeaseId),
    /// The machine failed under a lease, not the job.
    Failed(LeaseId, String),
    /// An A/A check is done.
    Checked(LeaseId, Result<HealthCheck, Illness>),
    /// Time has passed.
    Tick,
}

/// Action that the scheduler requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Give a job to a station.
    Lease { slot: SlotId, lease: LeaseId, job: JobId },
    /// Have a station measure a graph against itself.
    Check { slot: SlotId, lease: LeaseId },
    /// End a station; another one will be started in its place.
    Restart { slot: SlotId, reason: String },
    /// A station takes leases from now on.
    Admitted(SlotId),
    /// A station takes no leases until a later check.
    SetAside { slot: SlotId, reason: String },
    /// A job was done on a device that then gave biased measurements: evaluate it again.
    Doubt(JobId),
    /// A job lost too many stations.
    GiveUp {
        job: JobId,
        /// The last reason.
        reason: String,
    },
}

/// State of the fleet as numbers, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Starting stations.
    pub starting: usize,
    /// Stations that take leases.
    pub admitted: usize,
    /// Stations that are set aside, are checked or end.
    pub aside: usize,
    /// Current leases, without checks.
    pub leases: usize,
    /// Number of leases that all admitted stations together can work on.
    pub places: usize,
    /// Waiting jobs of trainers.
    pub waiting_training: usize,
    /// Waiting jobs of runs.
    pub waiting_batch: usize,
    /// Jobs done.
    pub finished: u64,
    /// Leases that ended without a result.
    pub wasted: u64,
}
