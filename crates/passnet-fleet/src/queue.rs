//! Fair queue of jobs: priorities first, then the client that has used the devices least.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use passnet_record::fleet::Priority;

use crate::job::JobId;

/// Every eighth lease goes to the lower priority first, so that no job waits forever.
const LEASES_PER_LOWER: u64 = 8;

/// Largest number of clients that are remembered.
const MAX_CLIENTS: usize = 1024;

/// Limits of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Jobs on devices at a time.
    pub running: usize,
    /// Waiting jobs. Above this number, the client should retry later.
    pub waiting: usize,
}

impl Default for Quota {
    fn default() -> Self {
        Self { running: usize::MAX, waiting: usize::MAX }
    }
}

/// Error for a client that has reached its limit of waiting jobs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("client `{client}` has {} waiting; retry later", passnet_record::counted(*.waiting, "job"))]
pub struct QueueFull {
    pub client: String,
    /// Number of waiting jobs.
    pub waiting: usize,
}

/// Use of the fleet by a client at a priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientUse {
    /// Name of the client.
    pub name: String,
    /// Priority of its jobs.
    pub priority: Priority,
    /// Jobs on devices.
    pub running: usize,
    /// Jobs that wait.
    pub waiting: usize,
    /// Device time that counts against the client.
    pub used: Duration,
}

/// One client at one priority.
#[derive(Clone, Debug, Default)]
struct Client {
    waiting: VecDeque<JobId>,
    running: usize,
    /// Device time that counts against the client.
    used: Duration,
}

/// Fair queue of jobs. Within a priority, the client with the least device time comes next.
#[derive(Clone, Debug, Default)]
pub(crate) struct FairQueue {
    quota: Quota,
    clients: BTreeMap<(Priority, String), Client>,
    leases: u64,
    /// Mean device time of a job, for jobs that still run.
    mean: Duration,
    finished: u32,
}

impl FairQueue {
    pub(crate) fn new(quota: Quota) -> Self {
        Self { quota, ..Self::default() }
    }

    /// Appends a job.
    pub(crate) fn push(&mut self, job: JobId, client: &str, priority: Priority) -> Result<(), QueueFull> {
        // Clients choose their names. Without a limit, a client that always sends new names would fill the memory.
        self.forget_idle();
        let (quota, floor) = (self.quota, self.floor(priority));
        let entry = self.entry(client, priority, floor);
        if entry.waiting.len() >= quota.waiting {
            return Err(QueueFull { client: client.to_owned(), waiting: entry.waiting.len() });
        }
        entry.waiting.push_back(job);
        Ok(())
    }

    /// Returns a job that was taken to the front of its client's queue.
    pub(crate) fn put_back(&mut self, job: JobId, client: &str, priority: Priority) {
        let floor = self.floor(priority);
        self.entry(client, priority, floor).waiting.push_front(job);
    }

    /// Removes and returns the next job.
    pub(crate) fn take(&mut self) -> Option<JobId> {
        let lower_first = self.leases % LEASES_PER_LOWER == LEASES_PER_LOWER - 1;
        let order =
            if lower_first { [Priority::Batch, Priority::Training] } else { [Priority::Training, Priority::Batch] };
        let job = order.into_iter().find_map(|priority| self.take_of(priority))?;
        self.leases += 1;
        Some(job)
    }

    fn take_of(&mut self, priority: Priority) -> Option<JobId> {
        let (mean, quota) = (self.mean, self.quota);
        let ready = self.clients.iter_mut().filter(|((of, _), client)| {
            *of == priority && !client.waiting.is_empty() && client.running < quota.running
        });
        // Running jobs are charged their expected time. Without it, a client could start many long jobs before the
        // first one is charged.
        let charged = |client: &Client| client.used + mean * u32::try_from(client.running).unwrap_or(u32::MAX);
        let (_, client) = ready.min_by_key(|(_, client)| charged(client))?;
        client.running += 1;
        client.waiting.pop_front()
    }

    /// Ends the use of a device by a job that was taken.
    pub(crate) fn release(&mut self, client: &str, priority: Priority, used: Duration, finished: bool) {
        // Lost leases are not part of the mean, because their time does not depend on the job.
        if finished {
            self.finished = self.finished.saturating_add(1);
            let (mean, used) = (self.mean.as_secs_f64(), used.as_secs_f64());
            self.mean = Duration::from_secs_f64(mean + (used - mean) / f64::from(self.finished));
        }
        if let Some(entry) = self.clients.get_mut(&(priority, client.to_owned())) {
            entry.running = entry.running.saturating_sub(1);
            entry.used += used;
        }
    }

    /// Removes a waiting job. Returns whether it was in the queue.
    pub(crate) fn remove(&mut self, job: JobId, client: &str, priority: Priority) -> bool {
        let Some(entry) = self.clients.get_mut(&(priority, client.to_owned())) else { return false };
        let before = entry.waiting.len();
        entry.waiting.retain(|&other| other != job);
        entry.waiting.len() < before
    }

    /// Returns the number of jobs that wait at a priority.
    pub(crate) fn waiting(&self, priority: Priority) -> usize {
        self.clients.iter().filter(|((of, _), _)| *of == priority).map(|(_, client)| client.waiting.len()).sum()
    }

    /// Returns the use of the fleet by each client.
    pub(crate) fn clients(&self) -> Vec<ClientUse> {
        let of = |((priority, name), client): (&(Priority, String), &Client)| ClientUse {
            name: name.clone(),
            priority: *priority,
            running: client.running,
            waiting: client.waiting.len(),
            used: client.used,
        };
        self.clients.iter().map(of).collect()
    }

    /// Removes idle clients if there are too many. Those with the least device time are removed first, because they lose least.
    fn forget_idle(&mut self) {
        while self.clients.len() >= MAX_CLIENTS {
            let idle = self.clients.iter().filter(|(_, client)| client.running == 0 && client.waiting.is_empty());
            let Some(key) = idle.min_by_key(|(_, client)| client.used).map(|(key, _)| key.clone()) else { return };
            self.clients.remove(&key);
        }
    }

    /// Returns the device time that a new or returning client starts with: the least of all active clients. Idle time earns no
    /// credit.
    fn floor(&self, priority: Priority) -> Duration {
        let active = |client: &Client| client.running > 0 || !client.waiting.is_empty();
        let used = self.clients.iter().filter(|((of, _), client)| *of == priority && active(client));
        used.map(|(_, client)| client.used).min().unwrap_or_default()
    }

    fn entry(&mut self, client: &str, priority: Priority, floor: Duration) -> &mut Client {
        let entry = self.clients.entry((priority, client.to_owned())).or_default();
        if entry.running == 0 && entry.waiting.is_empty() {
            // Only for a client without jobs: an active client keeps its account.
            entry.used = entry.used.max(floor);
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_all(queue: &mut FairQueue, times: usize) -> Vec<u64> {
        (0..times).filter_map(|_| queue.take()).map(|job| job.0).collect()
    }

    #[test]
    fn the_client_that_used_least_is_next() {
        let mut queue = FairQueue::default();
        for job in 0..4 {
            queue.push(JobId(job), "many", Priority::Batch).unwrap();
        }
        assert_eq!(queue.take(), Some(JobId(0)));
        queue.release("many", Priority::Batch, Duration::from_secs(10), true);
        queue.push(JobId(9), "late", Priority::Batch).unwrap();
        queue.push(JobId(8), "late", Priority::Batch).unwrap();
        // It begins level with the other; then both take turns.
        let mut order = Vec::new();
        for _ in 0..4 {
            let job = queue.take().unwrap();
            queue.release(if job.0 > 7 { "late" } else { "many" }, Priority::Batch, Duration::from_secs(10), true);
            order.push(job.0);
        }
        assert_eq!(order.iter().filter(|&&job| job > 7).count(), 2, "{order:?}");
    }

    #[test]
    fn training_goes_first_but_batch_does_not_starve() {
        let mut queue = FairQueue::default();
        for job in 0..32 {
            queue.push(JobId(job), "trainer", Priority::Training).unwrap();
            queue.push(JobId(100 + job), "run", Priority::Batch).unwrap();
        }
        let order = take_all(&mut queue, 16);
        assert_eq!(order.iter().filter(|&&job| job >= 100).count(), 2, "{order:?}");
        assert!(order[..7].iter().all(|&job| job < 100), "{order:?}");
    }

    #[test]
    fn quotas_bound_what_runs_and_what_waits() {
        let mut queue = FairQueue::new(Quota { running: 1, waiting: 2 });
        queue.push(JobId(1), "a", Priority::Batch).unwrap();
        queue.push(JobId(2), "a", Priority::Batch).unwrap();
        let error = queue.push(JobId(3), "a", Priority::Batch).unwrap_err();
        assert_eq!(error.waiting, 2);
        queue.push(JobId(4), "b", Priority::Batch).unwrap();
        assert_eq!(take_all(&mut queue, 3), [1, 4]);
        queue.release("a", Priority::Batch, Duration::ZERO, true);
        assert_eq!(queue.take(), Some(JobId(2)));
        assert!(!queue.remove(JobId(2), "a", Priority::Batch));
    }

    #[test]
    fn idle_clients_are_forgotten_where_there_are_very_many() {
        let mut queue = FairQueue::default();
        queue.push(JobId(0), "works", Priority::Training).unwrap();
        for job in 1..2 * MAX_CLIENTS as u64 {
            queue.push(JobId(job), &job.to_string(), Priority::Batch).unwrap();
            assert!(queue.remove(JobId(job), &job.to_string(), Priority::Batch));
        }
        assert!(queue.clients().len() <= MAX_CLIENTS);
        assert_eq!(queue.take(), Some(JobId(0)));
    }

    #[test]
    fn a_job_that_is_put_back_is_next() {
        let mut queue = FairQueue::default();
        queue.push(JobId(1), "a", Priority::Batch).unwrap();
        queue.push(JobId(2), "a", Priority::Batch).unwrap();
        let job = queue.take().unwrap();
        queue.release("a", Priority::Batch, Duration::ZERO, false);
        queue.put_back(job, "a", Priority::Batch);
        assert_eq!(take_all(&mut queue, 2), [1, 2]);
    }
}
