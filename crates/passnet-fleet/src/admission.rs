//! Admission of actions: limits on the number of running and waiting actions, for all clients together and for each client. It uses
//! neither a clock nor IO.

use std::{collections::BTreeMap, time::Duration};

/// Limits on the number of admitted actions, running and waiting ones together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionLimits {
    /// Limit for all clients together.
    pub all: usize,
    /// Limit for each client.
    pub client: usize,
}

/// Refusal of an action. The client should retry later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionRefusal {
    /// The client has reached its limit.
    #[error("client `{client}` has reached its quota of {actions} actions; retry in {} s", retry_after.as_secs())]
    Quota {
        client: String,
        /// Number of actions of the client.
        actions: usize,
        /// Time after which a retry may succeed.
        retry_after: Duration,
    },
    /// The queue of the fleet is full.
    #[error("the queue is full: {actions} actions of all clients; retry in {} s", retry_after.as_secs())]
    Queue {
        /// Actions of all clients.
        actions: usize,
        /// Time after which a retry may succeed.
        retry_after: Duration,
    },
}

/// Admitted actions, by client.
#[derive(Clone, Debug)]
pub(crate) struct Admissions {
    limits: AdmissionLimits,
    held: BTreeMap<String, usize>,
    all: usize,
    /// Actions refused because of a client's quota, and because the queue was full.
    pub(crate) refused: (u64, u64),
}

impl Admissions {
    pub(crate) fn new(limits: AdmissionLimits) -> Self {
        Self { limits, held: BTreeMap::new(), all: 0, refused: (0, 0) }
    }

    /// Admits an action of a client.
    pub(crate) fn admit(&mut self, client: &str, retry_after: Duration) -> Result<(), AdmissionRefusal> {
        let actions = self.held.get(client).copied().unwrap_or_default();
        // The quota is checked first, because a client over its quota would be refused even if the queue were empty.
        if actions >= self.limits.client {
            self.refused.0 += 1;
            return Err(AdmissionRefusal::Quota { client: client.to_owned(), actions, retry_after });
        }
        if self.all >= self.limits.all {
            self.refused.1 += 1;
            return Err(AdmissionRefusal::Queue { actions: self.all, retry_after });
        }
        self.held.insert(client.to_owned(), actions + 1);
        self.all += 1;
        Ok(())
    }

    /// Releases an admitted action.
    pub(crate) fn leave(&mut self, client: &str) {
        let Some(actions) = self.held.get_mut(client) else { return };
        *actions -= 1;
        if *actions == 0 {
            self.held.remove(client);
        }
        self.all -= 1;
    }

    /// Returns the number of admitted actions.
    pub(crate) fn all(&self) -> usize {
        self.all
    }
}

/// Estimates the time until an action can be admitted: the mean time of an action times the number of actions per
/// place, between 1 and 60 seconds.
pub(crate) fn retry_after(actions: usize, places: usize, mean: Duration) -> Duration {
    let rounds = (actions as f64 / places.max(1) as f64).max(1.0);
    // At most a minute: an estimate from few actions may be far off, and a client that waits too long leaves
    // devices idle.
    Duration::from_secs_f64((mean.as_secs_f64() * rounds).clamp(1.0, 60.0).ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(3);

    #[test]
    fn quotas_and_the_queue_are_bounded_and_places_come_back() {
        let mut admissions = Admissions::new(AdmissionLimits { all: 3, client: 2 });
        admissions.admit("a", WAIT).unwrap();
        admissions.admit("a", WAIT).unwrap();
        let busy = admissions.admit("a", WAIT).unwrap_err();
        assert_eq!(busy.to_string(), "client `a` has reached its quota of 2 actions; retry in 3 s");
        admissions.admit("b", WAIT).unwrap();
        assert_eq!(admissions.admit("c", WAIT), Err(AdmissionRefusal::Queue { actions: 3, retry_after: WAIT }));
        admissions.leave("a");
        admissions.admit("c", WAIT).unwrap();
        assert_eq!((admissions.all(), admissions.refused), (3, (1, 1)));
        // One that was never admitted changes nothing.
        admissions.leave("d");
        assert_eq!(admissions.all(), 3);
    }

    #[test]
    fn the_hint_follows_the_queue() {
        let check = |actions, places, mean_s, expected_s| {
            let found = retry_after(actions, places, Duration::from_secs(mean_s));
            assert_eq!(found, Duration::from_secs(expected_s), "{actions} {places} {mean_s}");
        };
        check(0, 0, 0, 1);
        check(8, 2, 3, 12);
        check(1, 4, 3, 3);
        check(10_000, 1, 30, 60);
    }
}
