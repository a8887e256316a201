//! Events and actions of the scheduler, and its rules.

use std::time::Duration;

use crate::{
    health::{Check, HealthPolicy, Illness},
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
    /// Stations that may be lost or fail under one job before it is given up.
    pub attempts: u32,
    /// Longest silence of a station with a lease, or that starts.
    pub silence: Duration,
    /// Time aside after the first bad check; doubled for each further one, at most 64 times.
    pub aside: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            quota: Quota::default(),
            health: HealthPolicy::default(),
            attempts: 8,
            silence: Duration::from_secs(900),
            aside: Duration::from_secs(30),
        }
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A station was started.
    Joined(SlotId),
    /// The referee of a station runs.
    Ready {
        /// The station.
        slot: SlotId,
        /// Leases that it works on at a time.
        capacity: usize,
        /// Reason why this run cannot use it at all.
        foreign: Option<String>,
    },
    /// A station is gone.
    Lost(SlotId),
    /// A lease gave a sign of life.
    Progress(LeaseId),
    /// A job is done.
    Finished(LeaseId),
    /// The machine failed under a lease, not the job.
    Failed(LeaseId, String),
    /// An A/A check is done.
    Checked(LeaseId, Result<Check, Illness>),
    /// Time has passed.
    Tick,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Give a job to a station.
    Lease {
        /// The station.
        slot: SlotId,
        /// The lease.
        lease: LeaseId,
        /// The job.
        job: JobId,
    },
    /// Have a station measure a graph against itself.
    Check {
        /// The station.
        slot: SlotId,
        /// The lease.
        lease: LeaseId,
    },
    /// End a station; another one will be started in its place.
    Restart {
        /// The station.
        slot: SlotId,
        /// The reason.
        reason: String,
    },
    /// A station takes leases from now on.
    Admitted(SlotId),
    /// A station takes no leases until a later check.
    SetAside {
        /// The station.
        slot: SlotId,
        /// The reason.
        reason: String,
    },
    /// A job was done on a device that then gave biased measurements: evaluate it again.
    Doubt(JobId),
    /// A job lost too many stations.
    GiveUp {
        /// The job.
        job: JobId,
        /// The last reason.
        reason: String,
    },
}

/// Numbers for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Stations that start.
    pub starting: usize,
    /// Stations that take leases.
    pub admitted: usize,
    /// Stations that are set aside, are checked or end.
    pub aside: usize,
    /// Leases under way, without checks.
    pub leases: usize,
    /// Leases that all admitted stations could work on.
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
