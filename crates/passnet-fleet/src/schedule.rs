//! The scheduler: it takes events and returns actions. It has no clock, no processes and no files, so a simulation runs the same code.
//!
//! ```text
//!            ready              check is good
//! Starting ────────► Unchecked ───────────────► Admitted ──► leases, and a check every N
//!                          │ check is bad          │ check is bad
//!                          └─────────► Aside ◄─────┘
//!                                      │   ▲ when its leases are over and its time is up:
//!                                      └───┘ checked again
//! ```
//!
//! A working station is checked under the same load as its leases; no lease waits for the check.
//!
//! A job is in one place at a time: the queue, one lease, or done. A station that is lost gives its jobs back to the queue.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use passnet_record::fleet::Priority;

use crate::{
    event::{Action, Counts, Event, Policy},
    health::{HealthCheck, Illness, Peers},
    job::{JobId, LeaseId, SlotId},
    queue::{ClientUse, FairQueue, QueueFull},
    slot::{Lease, LeaseWork, Slot, StationState},
    view::StationView,
};

/// A job that is not done.
#[derive(Clone, Debug)]
struct Job {
    client: String,
    priority: Priority,
    attempts: u32,
}

/// Assigns jobs to stations. See the module documentation for the states of a station.
#[derive(Debug)]
pub struct Scheduler {
    policy: Policy,
    queue: FairQueue,
    jobs: BTreeMap<JobId, Job>,
    slots: BTreeMap<SlotId, Slot>,
    /// Admitted stations with room, so that a lease does not look at all stations.
    open: BTreeSet<SlotId>,
    /// Stations that wait for a check, for the same reason.
    unchecked: BTreeSet<SlotId>,
    holders: BTreeMap<LeaseId, SlotId>,
    peers: Peers,
    next_lease: u64,
    finished: u64,
    wasted: u64,
}

impl Scheduler {
    /// Creates a scheduler without stations and jobs.
    pub fn new(policy: Policy) -> Self {
        Self {
            queue: FairQueue::new(policy.quota),
            policy,
            jobs: BTreeMap::new(),
            slots: BTreeMap::new(),
            open: BTreeSet::new(),
            unchecked: BTreeSet::new(),
            holders: BTreeMap::new(),
            peers: Peers::default(),
            next_lease: 0,
            finished: 0,
            wasted: 0,
        }
    }

    /// Adds a job to the queue.
    ///
    /// # Errors
    /// If the client has too many waiting jobs.
    pub fn submit(&mut self, job: JobId, client: &str, priority: Priority) -> Result<(), QueueFull> {
        self.queue.push(job, client, priority)?;
        self.jobs.insert(job, Job { client: client.to_owned(), priority, attempts: 0 });
        Ok(())
    }

    /// Removes a job, also a running one. Later reports of its station are ignored.
    pub fn cancel(&mut self, job: JobId) {
        if let Some(found) = self.jobs.remove(&job) {
            self.queue.remove(job, &found.client, found.priority);
        }
    }

    /// Returns the number of jobs that are not done.
    pub fn unfinished(&self) -> usize {
        self.jobs.len()
    }

    /// Returns the job of a lease that is under way.
    pub fn job_of(&self, lease: LeaseId) -> Option<JobId> {
        match self.slots.get(self.holders.get(&lease)?)?.leases.get(&lease)?.work {
            LeaseWork::Job(job) => self.jobs.contains_key(&job).then_some(job),
            LeaseWork::Check => None,
        }
    }

    /// Returns the use of the fleet by each client.
    pub(crate) fn clients(&self) -> Vec<ClientUse> {
        self.queue.clients()
    }

    /// Returns numbers for metrics.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            waiting_training: self.queue.waiting(Priority::Training),
            waiting_batch: self.queue.waiting(Priority::Batch),
            finished: self.finished,
            wasted: self.wasted,
            ..Counts::default()
        };
        for slot in self.slots.values() {
            match slot.state {
                StationState::Starting { .. } => counts.starting += 1,
                StationState::Admitted => {
                    counts.admitted += 1;
                    counts.places += slot.capacity;
                }
                StationState::Unchecked | StationState::Aside { .. } | StationState::Ending => counts.aside += 1,
            }
            counts.leases += slot.jobs();
        }
        counts
    }

    /// Returns the state of each station. The scheduler does not know hosts, devices or reasons.
    pub fn stations(&self) -> Vec<StationView> {
        let view = |(&id, slot): (&SlotId, &Slot)| StationView {
            slot: id,
            node: String::new(),
            device: String::new(),
            state: slot.state.name(),
            reason: String::new(),
            places: slot.capacity,
            leases: slot.jobs(),
            finished: slot.finished,
            busy: slot.busy,
        };
        self.slots.iter().map(view).collect()
    }

    /// Handles an event and returns the resulting actions. `now` is the time since the start, and must not decrease.
    pub fn handle(&mut self, now: Duration, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Joined(slot) => drop(self.slots.insert(slot, Slot::starting(now))),
            Event::Ready { slot, capacity, foreign } => self.ready(slot, capacity, foreign, &mut actions),
            Event::Lost(slot) => self.lost(now, slot, "the station was lost", &mut actions),
            Event::Progress(lease) => self.progress(now, lease),
            Event::Finished(lease) => self.finished(now, lease),
            Event::Failed(lease, reason) => self.failed(now, lease, &reason, &mut actions),
            Event::Checked(lease, check) => self.checked(now, lease, check, &mut actions),
            Event::Tick => self.find_silent(now, &mut actions),
        }
        // Any event can make a check due or free a station, so both follow every event.
        self.begin_checks(now, &mut actions);
        self.give_leases(now, &mut actions);
        actions
    }

    fn ready(&mut self, id: SlotId, capacity: usize, foreign: Option<String>, actions: &mut Vec<Action>) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        if !matches!(slot.state, StationState::Starting { .. }) {
            return;
        }
        slot.capacity = capacity.max(1);
        slot.state = StationState::Unchecked;
        self.unchecked.insert(id);
        if let Some(reason) = foreign {
            self.unchecked.remove(&id);
            slot.state = StationState::Aside { until: None };
            actions.push(Action::SetAside { slot: id, reason });
        }
    }

    fn lost(&mut self, now: Duration, id: SlotId, reason: &str, actions: &mut Vec<Action>) {
        let Some(slot) = self.slots.remove(&id) else { return };
        self.open.remove(&id);
        self.unchecked.remove(&id);
        self.peers.forget(id);
        for (lease, held) in slot.leases {
            self.holders.remove(&lease);
            self.return_job(now, held, reason, actions);
        }
    }

    /// Returns the job of a lease without a result to the queue, or gives it up.
    fn return_job(&mut self, now: Duration, lease: Lease, reason: &str, actions: &mut Vec<Action>) {
        let LeaseWork::Job(id) = lease.work else { return };
        self.wasted += 1;
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.attempts += 1;
        let (client, priority) = (job.client.clone(), job.priority);
        // The time counts against the client even without a result: the device was taken from others.
        self.queue.release(&client, priority, now.saturating_sub(lease.begun), false);
        if job.attempts < self.policy.attempts {
            // To the front of the client's queue: the job has already waited for its turn.
            self.queue.put_back(id, &client, priority);
        } else {
            self.jobs.remove(&id);
            actions.push(Action::GiveUp { job: id, reason: reason.to_owned() });
        }
    }

    fn progress(&mut self, now: Duration, lease: LeaseId) {
        let slot = self.holders.get(&lease).and_then(|slot| self.slots.get_mut(slot));
        if let Some(held) = slot.and_then(|slot| slot.leases.get_mut(&lease)) {
            held.seen = now;
        }
    }

    /// Ends a lease of this kind. `None` if there is no such lease, for example if its end is reported twice.
    fn end(&mut self, id: LeaseId, kind: impl Fn(LeaseWork) -> bool) -> Option<(SlotId, Lease)> {
        let slot_id = *self.holders.get(&id)?;
        let slot = self.slots.get_mut(&slot_id)?;
        let lease = *slot.leases.get(&id).filter(|lease| kind(lease.work))?;
        slot.leases.remove(&id);
        self.holders.remove(&id);
        if slot.has_room() {
            self.open.insert(slot_id);
        }
        Some((slot_id, lease))
    }

    fn finished(&mut self, now: Duration, lease: LeaseId) {
        // An unknown lease belongs to a station that was believed lost. Its job is in the queue again, or done.
        let Some((slot_id, lease)) = self.end(lease, |work| work != LeaseWork::Check) else { return };
        let LeaseWork::Job(id) = lease.work else { return };
        if let Some(job) = self.jobs.remove(&id) {
            self.finished += 1;
            self.queue.release(&job.client, job.priority, now.saturating_sub(lease.begun), true);
        }
        let every = self.policy.health.every;
        let Some(slot) = self.slots.get_mut(&slot_id) else { return };
        slot.since_check.push(id);
        slot.finished += 1;
        slot.busy += now.saturating_sub(lease.begun);
        // A check is due after a number of leases and not after a time, because an idle device makes no measurements that a
        // check could protect.
        if slot.state == StationState::Admitted && every > 0 && slot.since_check.len() >= every {
            self.unchecked.insert(slot_id);
        }
    }

    fn failed(&mut self, now: Duration, id: LeaseId, reason: &str, actions: &mut Vec<Action>) {
        let Some((slot_id, lease)) = self.end(id, |_| true) else { return };
        self.return_job(now, lease, reason, actions);
        self.restart(slot_id, reason, actions);
    }

    fn restart(&mut self, id: SlotId, reason: &str, actions: &mut Vec<Action>) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        self.open.remove(&id);
        self.unchecked.remove(&id);
        if slot.state != StationState::Ending {
            slot.state = StationState::Ending;
            actions.push(Action::Restart { slot: id, reason: reason.to_owned() });
        }
    }

    fn checked(&mut self, now: Duration, id: LeaseId, check: Result<HealthCheck, Illness>, actions: &mut Vec<Action>) {
        let Some((slot_id, _)) = self.end(id, |work| work == LeaseWork::Check) else { return };
        let judged = check.and_then(|check| self.peers.judge(slot_id, &check, &self.policy.health));
        // A check that was in progress must not admit a station that is being ended.
        let Some(slot) = self.slots.get_mut(&slot_id).filter(|slot| slot.state != StationState::Ending) else { return };
        let Err(illness) = judged else {
            slot.failures = 0;
            slot.since_check.clear();
            self.unchecked.remove(&slot_id);
            if slot.state != StationState::Admitted {
                slot.state = StationState::Admitted;
                self.open.insert(slot_id);
                actions.push(Action::Admitted(slot_id));
            }
            return;
        };
        self.open.remove(&slot_id);
        self.unchecked.insert(slot_id);
        // Doubled, because a device that stays bad would spend the time of its host on checks.
        let wait = self.policy.aside * 2_u32.pow(slot.failures.min(6));
        slot.failures += 1;
        slot.state = StationState::Aside { until: Some(now + wait) };
        let since = std::mem::take(&mut slot.since_check);
        if illness.casts_doubt() {
            actions.extend(since.into_iter().map(Action::Doubt));
        }
        actions.push(Action::SetAside { slot: slot_id, reason: illness.to_string() });
    }

    fn find_silent(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let silence = self.policy.silence;
        let is_silent = |slot: &Slot| match slot.state {
            StationState::Starting { since } => now.saturating_sub(since) > silence,
            _ => slot.leases.values().any(|lease| now.saturating_sub(lease.seen) > silence),
        };
        let silent: Vec<SlotId> = self.slots.iter().filter(|(_, slot)| is_silent(slot)).map(|(&id, _)| id).collect();
        for id in silent {
            self.restart(id, &format!("no message for {} s", silence.as_secs()), actions);
        }
    }

    fn begin_checks(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let wants = |id: &&SlotId| self.slots.get(id).is_some_and(|slot| slot.wants_check(now));
        let due: Vec<SlotId> = self.unchecked.iter().filter(wants).copied().collect();
        for slot in due {
            let lease = self.lease(now, slot, LeaseWork::Check);
            actions.push(Action::Check { slot, lease });
        }
    }

    fn give_leases(&mut self, now: Duration, actions: &mut Vec<Action>) {
        // The lowest number comes first. The order is the same in every run of a simulation.
        while let Some(slot) = self.open.first().copied() {
            let Some(job) = self.queue.take() else { break };
            let lease = self.lease(now, slot, LeaseWork::Job(job));
            actions.push(Action::Lease { slot, lease, job });
        }
    }

    fn lease(&mut self, now: Duration, id: SlotId, work: LeaseWork) -> LeaseId {
        let lease = LeaseId(self.next_lease);
        self.next_lease += 1;
        self.holders.insert(lease, id);
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.leases.insert(lease, Lease { work, begun: now, seen: now });
            if !slot.has_room() {
                self.open.remove(&id);
            }
        }
        lease
    }
}

#[cfg(test)]
mod tests;
