//! Stations as the scheduler sees them.

use std::{collections::BTreeMap, time::Duration};

use crate::job::{JobId, LeaseId};

/// Something that a station works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) work: Work,
    pub(crate) begun: Duration,
    /// Time of the last sign of life.
    pub(crate) seen: Duration,
}

/// The kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A job.
    Job(JobId),
    /// An A/A check.
    Check,
}

/// State of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It starts its referee.
    Starting {
        /// When it was started.
        since: Duration,
    },
    /// It takes none until its first check.
    Unchecked,
    /// It takes leases.
    Admitted,
    /// It takes none until a check at that time.
    Aside {
        /// When it is checked again; `None` if never.
        until: Option<Duration>,
    },
    /// It was asked to end.
    Ending,
}

/// One station.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) state: State,
    pub(crate) capacity: usize,
    pub(crate) leases: BTreeMap<LeaseId, Lease>,
    /// Jobs done since the last good check.
    pub(crate) since_check: Vec<JobId>,
    /// Checks failed in a row.
    pub(crate) failures: u32,
}

impl Slot {
    pub(crate) fn starting(now: Duration) -> Self {
        Self {
            state: State::Starting { since: now },
            capacity: 1,
            leases: BTreeMap::new(),
            since_check: Vec::new(),
            failures: 0,
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        let jobs = self.leases.values().filter(|lease| lease.work != Work::Check).count();
        self.state == State::Admitted && jobs < self.capacity
    }

    /// Returns whether a station on the list for a check can have it now. One that works has it among its leases, one that was
    /// set aside when they are over.
    pub(crate) fn wants_check(&self, now: Duration) -> bool {
        match self.state {
            State::Unchecked => self.leases.is_empty(),
            State::Aside { until } => self.leases.is_empty() && until.is_some_and(|until| until <= now),
            State::Admitted => self.leases.values().all(|lease| lease.work != Work::Check),
            State::Starting { .. } | State::Ending => false,
        }
    }
}
