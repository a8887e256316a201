//! State of the stations in the scheduler.

use std::{collections::BTreeMap, time::Duration};

use crate::job::{JobId, LeaseId};

/// Work that a station has at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) work: LeaseWork,
    pub(crate) begun: Duration,
    /// Time of the last message.
    pub(crate) seen: Duration,
}

/// Kind of work of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseWork {
    Job(JobId),
    Check,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StationState {
    /// The station starts its referee.
    Starting {
        /// Time of the start.
        since: Duration,
    },
    /// The station takes no leases before its first good check.
    Unchecked,
    /// The station takes leases.
    Admitted,
    /// The station takes no leases until a later check is good.
    Aside {
        /// Time of the next check; `None` for never.
        until: Option<Duration>,
    },
    /// The station was asked to end.
    Ending,
}

impl StationState {
    /// Returns the name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Starting { .. } => "starting",
            Self::Unchecked => "unchecked",
            Self::Admitted => "admitted",
            Self::Aside { .. } => "aside",
            Self::Ending => "ending",
        }
    }
}

/// A station in the scheduler.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) state: StationState,
    pub(crate) capacity: usize,
    pub(crate) leases: BTreeMap<LeaseId, Lease>,
    /// Jobs done since the last good check.
    pub(crate) since_check: Vec<JobId>,
    /// Number of bad checks in a row.
    pub(crate) failures: u32,
    /// Jobs done, and their time.
    pub(crate) finished: u64,
    pub(crate) busy: Duration,
}

impl Slot {
    pub(crate) fn starting(now: Duration) -> Self {
        Self {
            state: StationState::Starting { since: now },
            capacity: 1,
            leases: BTreeMap::new(),
            since_check: Vec::new(),
            failures: 0,
            finished: 0,
            busy: Duration::ZERO,
        }
    }

    /// Returns the number of jobs that the station works on.
    pub(crate) fn jobs(&self) -> usize {
        self.leases.values().filter(|lease| lease.work != LeaseWork::Check).count()
    }

    pub(crate) fn has_room(&self) -> bool {
        self.state == StationState::Admitted && self.jobs() < self.capacity
    }

    /// Returns whether a station on the list for a check can be checked now. A working station is checked while its leases run, and a
    /// station that was set aside is checked after its leases have ended.
    pub(crate) fn wants_check(&self, now: Duration) -> bool {
        match self.state {
            StationState::Unchecked => self.leases.is_empty(),
            StationState::Aside { until } => self.leases.is_empty() && until.is_some_and(|until| until <= now),
            StationState::Admitted => self.leases.values().all(|lease| lease.work != LeaseWork::Check),
            StationState::Starting { .. } | StationState::Ending => false,
        }
    }
}
