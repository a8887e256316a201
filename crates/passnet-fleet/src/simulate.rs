//! A fleet in simulated time: the scheduler of the driver, with durations from measured runs.

mod durations;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    time::Duration,
};

use passnet_record::fleet::Priority;
use serde::Serialize;

pub use self::durations::task_durations;
use crate::{
    event::{Action, Event, Policy},
    health::HealthCheck,
    job::{JobId, LeaseId, SlotId},
    random::Random,
    schedule::Scheduler,
};

/// Name of the client that submits the run.
const RUN: &str = "run";
/// Pause between two ticks.
const TICK: Duration = Duration::from_secs(5);

/// Setup of a simulation.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Rules of the scheduler.
    pub policy: Policy,
    pub devices: usize,
    /// Devices of one node, which fail together when the node fails.
    pub devices_per_node: usize,
    /// Leases that a station works on at a time.
    pub capacity: usize,
    /// Tasks of a run, all submitted at the beginning.
    pub tasks: usize,
    /// Measured durations of tasks; each task has one of them.
    pub durations: Vec<Duration>,
    /// Actions of trainers per second, while the run lasts; each needs a device for one of the durations.
    pub actions_per_second: f64,
    /// Trainers, which share the actions evenly.
    pub trainers: usize,
    /// Time from the start of a station to its first check.
    pub start: Duration,
    /// Duration of an A/A check.
    pub check: Duration,
    /// Mean time between losses of one station; `None` for never.
    pub station_mtbf: Option<Duration>,
    /// Mean time between losses of one node; `None` for never.
    pub node_mtbf: Option<Duration>,
    /// Share of the checks that find a bias.
    pub biased: f64,
    /// Seed of everything random.
    pub seed: u64,
}

/// Outcome of a simulation. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SimulationReport {
    pub devices: usize,
    /// Tasks of the run.
    pub tasks: usize,
    /// Time until the run was done.
    pub makespan_s: f64,
    /// Jobs done per second.
    pub jobs_per_second: f64,
    /// Share of the time of all places that was spent on jobs that ended.
    pub utilisation: f64,
    /// The same until the last task was given to a device, without the tail of the run.
    pub utilisation_before_tail: f64,
    /// Share that was spent on jobs whose station was then lost.
    pub wasted: f64,
    /// Share that was spent on checks.
    pub checking: f64,
    /// Tasks of the run that were done; evaluations in doubt count once.
    pub done: usize,
    /// Jobs that were given up.
    pub given_up: usize,
    /// Jobs that were evaluated again for a biased device.
    pub doubted: usize,
    /// Stations lost.
    pub losses: usize,
    /// Actions of trainers that were answered.
    pub actions: usize,
    /// Time from a trainer's action to its device: median, 95 % and 99 %.
    pub action_wait_s: (f64, f64, f64),
    /// Largest share of one trainer, divided by the mean.
    pub most_served_trainer: f64,
    /// Events that the scheduler handled.
    pub events: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Future {
    Tick,
    Action,
    Ready(SlotId),
    Lost(SlotId),
    NodeLost(usize),
    CheckEnds(LeaseId),
    JobEnds(LeaseId),
}

#[derive(Clone, Copy, Debug)]
struct Running {
    slot: SlotId,
    job: Option<JobId>,
    begun: Duration,
}

struct World<'a> {
    setup: &'a Simulation,
    scheduler: Scheduler,
    random: Random,
    now: Duration,
    future: BinaryHeap<Reverse<(Duration, u64, Future)>>,
    order: u64,
    next_slot: u64,
    /// Node of each station that is alive.
    alive: BTreeMap<SlotId, usize>,
    running: BTreeMap<LeaseId, Running>,
    /// Time of submission of each trainer's action that waits.
    submitted: BTreeMap<JobId, Duration>,
    done: Vec<bool>,
    waits: Vec<f64>,
    served: Vec<u64>,
    next_action: u64,
    busy: Duration,
    wasted: Duration,
    checking: Duration,
    last_lease: Duration,
    busy_before_tail: Duration,
    report: SimulationReport,
}

/// Runs a simulation. Equal arguments give equal reports.
pub fn simulate(setup: &Simulation) -> SimulationReport {
    let mut world = World::new(setup);
    world.begin();
    while world.report.done + world.report.given_up < setup.tasks {
        let Some(Reverse((at, _, future))) = world.future.pop() else { break };
        world.now = at;
        world.step(future);
    }
    world.finish()
}

impl<'a> World<'a> {
    fn new(setup: &'a Simulation) -> Self {
        Self {
            setup,
            scheduler: Scheduler::new(setup.policy),
            random: Random(setup.seed),
            now: Duration::ZERO,
            future: BinaryHeap::new(),
            order: 0,
            next_slot: 0,
            alive: BTreeMap::new(),
            running: BTreeMap::new(),
            submitted: BTreeMap::new(),
            done: vec![false; setup.tasks],
            waits: Vec::new(),
            served: vec![0; setup.trainers.max(1)],
            next_action: setup.tasks as u64,
            busy: Duration::ZERO,
            wasted: Duration::ZERO,
            checking: Duration::ZERO,
            last_lease: Duration::ZERO,
            busy_before_tail: Duration::ZERO,
            report: SimulationReport { devices: setup.devices, tasks: setup.tasks, ..SimulationReport::default() },
        }
    }

    fn begin(&mut self) {
        for job in 0..self.setup.tasks {
            // The run is one client, whose quota is not for its own queue.
            let _ = self.scheduler.submit(JobId(job as u64), RUN, Priority::Batch);
        }
        for device in 0..self.setup.devices {
            self.start_station(device / self.setup.devices_per_node.max(1), self.setup.start);
        }
        for node in 0..self.setup.devices.div_ceil(self.setup.devices_per_node.max(1)) {
            self.plan_loss(self.setup.node_mtbf, Future::NodeLost(node));
        }
        if self.setup.actions_per_second > 0.0 {
            self.plan(Duration::ZERO, Future::Action);
        }
        self.plan(TICK, Future::Tick);
    }

    fn plan(&mut self, wait: Duration, future: Future) {
        self.order += 1;
        self.future.push(Reverse((self.now + wait, self.order, future)));
    }

    fn plan_loss(&mut self, mean: Option<Duration>, future: Future) {
        if let Some(mean) = mean {
            let wait = self.random.exponential(mean.as_secs_f64());
            self.plan(wait, future);
        }
    }

    fn start_station(&mut self, node: usize, wait: Duration) {
        let slot = SlotId(self.next_slot);
        self.next_slot += 1;
        self.alive.insert(slot, node);
        self.feed(Event::Joined(slot));
        self.plan(wait, Future::Ready(slot));
        self.plan_loss(self.setup.station_mtbf, Future::Lost(slot));
    }

    fn step(&mut self, future: Future) {
        match future {
            Future::Tick => {
                self.plan(TICK, Future::Tick);
                self.feed(Event::Tick);
            }
            Future::Action => self.action(),
            Future::Ready(slot) if self.alive.contains_key(&slot) => {
                self.feed(Event::Ready { slot, capacity: self.setup.capacity, foreign: None });
            }
            Future::Lost(slot) => self.lose(slot),
            Future::NodeLost(node) => {
                let slots: Vec<SlotId> =
                    self.alive.iter().filter(|(_, of)| **of == node).map(|(&slot, _)| slot).collect();
                slots.into_iter().for_each(|slot| self.lose(slot));
                self.plan_loss(self.setup.node_mtbf, Future::NodeLost(node));
            }
            Future::CheckEnds(lease) => self.end_check(lease),
            Future::JobEnds(lease) => self.end_job(lease),
            Future::Ready(_) => {}
        }
    }

    fn action(&mut self) {
        let wait = self.random.exponential(1.0 / self.setup.actions_per_second);
        self.plan(wait, Future::Action);
        let job = JobId(self.next_action);
        self.next_action += 1;
        let trainer = job.0 as usize % self.served.len();
        if self.scheduler.submit(job, &format!("trainer-{trainer}"), Priority::Training).is_ok() {
            self.submitted.insert(job, self.now);
            self.feed(Event::Tick);
        }
    }

    fn lose(&mut self, slot: SlotId) {
        let Some(node) = self.alive.remove(&slot) else { return };
        self.report.losses += 1;
        let leases: Vec<LeaseId> =
            self.running.iter().filter(|(_, running)| running.slot == slot).map(|(&lease, _)| lease).collect();
        for lease in leases {
            if let Some(running) = self.running.remove(&lease) {
                self.wasted += self.now - running.begun;
            }
        }
        self.feed(Event::Lost(slot));
        self.start_station(node, self.setup.start);
    }

    fn end_check(&mut self, lease: LeaseId) {
        let Some(running) = self.running.remove(&lease) else { return };
        self.checking += self.now - running.begun;
        let fit = HealthCheck { ratio: (1.0, 0.99, 1.01), median_ns: 1e5, memory_bytes: 0 };
        let biased = HealthCheck { ratio: (1.2, 1.1, 1.3), ..fit };
        let check = if self.random.uniform() < self.setup.biased { biased } else { fit };
        self.feed(Event::Checked(lease, Ok(check)));
    }

    fn end_job(&mut self, lease: LeaseId) {
        let Some(running) = self.running.remove(&lease) else { return };
        self.busy += self.now - running.begun;
        let job = running.job.map_or(usize::MAX, |job| job.0 as usize);
        if let Some(done) = self.done.get_mut(job)
            && !std::mem::replace(done, true)
        {
            self.report.done += 1;
        } else if job >= self.setup.tasks {
            self.report.actions += 1;
        }
        self.feed(Event::Finished(lease));
    }

    fn feed(&mut self, event: Event) {
        self.report.events += 1;
        for action in self.scheduler.handle(self.now, event) {
            match action {
                Action::Lease { slot, lease, job } => self.begin_job(slot, lease, job),
                Action::Check { slot, lease } => {
                    self.running.insert(lease, Running { slot, job: None, begun: self.now });
                    self.plan(self.setup.check, Future::CheckEnds(lease));
                }
                Action::Restart { slot, .. } => self.plan(Duration::ZERO, Future::Lost(slot)),
                Action::Doubt(job) => {
                    self.report.doubted += 1;
                    if self.done.get_mut(job.0 as usize).is_some_and(std::mem::take) {
                        self.report.done -= 1;
                        let _ = self.scheduler.submit(job, RUN, Priority::Batch);
                    }
                }
                Action::GiveUp { .. } => self.report.given_up += 1,
                Action::Admitted(_) | Action::SetAside { .. } => {}
            }
        }
    }

    fn begin_job(&mut self, slot: SlotId, lease: LeaseId, job: JobId) {
        self.running.insert(lease, Running { slot, job: Some(job), begun: self.now });
        if let Some(submitted) = self.submitted.remove(&job) {
            self.waits.push((self.now - submitted).as_secs_f64());
            let trainer = job.0 as usize % self.served.len();
            self.served[trainer] += 1;
        } else {
            self.last_lease = self.now;
            self.busy_before_tail = self.busy;
        }
        // A job has one duration, however often it is tried.
        let pick = Random(self.setup.seed ^ (job.0 + 1).wrapping_mul(0x9e37_79b9)).next() as usize;
        let duration = self.setup.durations.get(pick % self.setup.durations.len().max(1)).copied();
        self.plan(duration.unwrap_or_default(), Future::JobEnds(lease));
    }

    fn finish(mut self) -> SimulationReport {
        let places = (self.setup.devices * self.setup.capacity) as f64;
        let total = (self.now.as_secs_f64() * places).max(f64::MIN_POSITIVE);
        let before_tail = (self.last_lease.as_secs_f64() * places).max(f64::MIN_POSITIVE);
        // Jobs that still run when the last lease is granted have used their places until then.
        let open: f64 = self.busy_before_tail.as_secs_f64();
        self.waits.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let place = (share * self.waits.len() as f64) as usize;
            self.waits.get(place.min(self.waits.len().saturating_sub(1))).copied().unwrap_or_default()
        };
        let served: u64 = self.served.iter().sum();
        let mean = served as f64 / self.served.len() as f64;
        let most = self.served.iter().copied().max().unwrap_or_default() as f64;
        SimulationReport {
            makespan_s: self.now.as_secs_f64(),
            jobs_per_second: (self.report.done + self.report.actions) as f64 / self.now.as_secs_f64().max(1e-9),
            utilisation: self.busy.as_secs_f64() / total,
            utilisation_before_tail: open / before_tail,
            wasted: self.wasted.as_secs_f64() / total,
            checking: self.checking.as_secs_f64() / total,
            action_wait_s: (quantile(0.5), quantile(0.95), quantile(0.99)),
            most_served_trainer: if served == 0 { 0.0 } else { most / mean },
            ..self.report
        }
    }
}

#[cfg(test)]
mod tests;
