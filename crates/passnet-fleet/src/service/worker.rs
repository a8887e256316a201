//! The thread of a service. Only this thread communicates with the stations.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use passnet_record::fleet::{StationReply, StationRequest};

use super::shared::{JobAnswer, JobRequest, ServiceState, lock};
use crate::{
    event::Event,
    job::{JobId, LeaseId, SlotId},
    stations::{StationLocation, Stations, StationsNews},
};

/// Longest wait for messages of the cluster. New jobs wait up to this time.
const TICK: Duration = Duration::from_millis(20);
/// Least time between two updates of the state that clients see.
const PUBLISH: Duration = Duration::from_millis(250);
/// Age from which a lease is checked for whether its job still exists.
const MINUTE: Duration = Duration::from_secs(60);

/// A current lease.
struct Held {
    place: Option<StationLocation>,
    begun: Instant,
    answer: Option<JobAnswer>,
}

/// State of the thread.
pub(super) struct ServiceLoop {
    stations: Stations,
    inbox: mpsc::Receiver<JobRequest>,
    shared: Arc<Mutex<ServiceState>>,
    stop: Arc<AtomicBool>,
    patience: Duration,
    orders: BTreeMap<JobId, JobRequest>,
    held: BTreeMap<LeaseId, Held>,
    next_job: u64,
    last_admitted: Instant,
    published: Option<Instant>,
}

impl ServiceLoop {
    pub(super) fn new(
        stations: Stations,
        inbox: mpsc::Receiver<JobRequest>,
        shared: Arc<Mutex<ServiceState>>,
        stop: Arc<AtomicBool>,
        patience: Duration,
    ) -> Self {
        let (orders, held) = Default::default();
        let last_admitted = Instant::now();
        Self { stations, inbox, shared, stop, patience, orders, held, next_job: 0, last_admitted, published: None }
    }

    /// Works until it is stopped or the cluster cannot be reached.
    pub(super) fn work(mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            if let Err(error) = self.stations.step(TICK) {
                tracing::error!("the fleet has ended: {error}");
                lock(&self.shared).ended = Some(error.to_string());
                return;
            }
            while let Ok(order) = self.inbox.try_recv() {
                self.take(order);
            }
            while let Some(news) = self.stations.next() {
                self.handle(news);
            }
            self.publish();
        }
    }

    fn take(&mut self, order: JobRequest) {
        let job = JobId(self.next_job);
        self.next_job += 1;
        match self.stations.scheduler.submit(job, &order.client.name, order.client.priority) {
            Ok(()) => drop(self.orders.insert(job, order)),
            Err(full) => drop(order.answer.send(Err(full.to_string()))),
        }
        // An event lets the scheduler give the new job to a free station now, and not at the next message of a
        // station.
        self.stations.feed(Event::Tick);
    }

    fn handle(&mut self, news: StationsNews) {
        match news {
            StationsNews::Machine(machine) => lock(&self.shared).machine = Some(machine),
            StationsNews::Lease { slot, lease, job } => self.lease(slot, lease, job),
            StationsNews::Reply(reply) => self.reply(reply),
            // The answer was already sent and is not recalled: the device had passed its last check.
            StationsNews::Doubt(_) => lock(&self.shared).status.doubted += 1,
            StationsNews::GiveUp { job, reason } => self.answer(job, Err(reason)),
            StationsNews::Note(text) => tracing::warn!("{text}"),
        }
    }

    fn lease(&mut self, slot: SlotId, lease: LeaseId, job: JobId) {
        let Some(order) = self.orders.get(&job) else {
            // The job was answered before, so the station has nothing to do.
            return self.stations.feed(Event::Finished(lease));
        };
        let parcel = order.parcel.clone();
        // Recorded now, because the location of a station is removed when the station is lost.
        let place = self.stations.place(slot).cloned();
        self.held.insert(lease, Held { place, begun: Instant::now(), answer: None });
        self.stations.send(slot, &StationRequest::Evaluate { lease: lease.0, parcel });
    }

    fn reply(&mut self, reply: StationReply) {
        let (lease, answer) = match reply {
            StationReply::Verdict { lease, verdict, .. } => (lease, JobAnswer::Verdict(verdict)),
            StationReply::Profiled { lease, profile } => (lease, JobAnswer::Profile(profile)),
            StationReply::Done { lease, .. } => return self.done(LeaseId(lease)),
            _ => return,
        };
        self.stations.feed(Event::Progress(LeaseId(lease)));
        if let Some(held) = self.held.get_mut(&LeaseId(lease)) {
            held.answer = Some(answer);
        }
    }

    fn done(&mut self, lease: LeaseId) {
        let held = self.held.remove(&lease);
        let Some(job) = self.stations.scheduler.job_of(lease) else {
            // The lease was lost or the job was given up in the meantime, so the answer is dropped.
            return self.stations.feed(Event::Finished(lease));
        };
        let Some(Held { place, begun, answer: Some(answer) }) = held else {
            return self.stations.feed(Event::Failed(lease, "the station ended a job without its answer".to_owned()));
        };
        self.stations.has_worked();
        if let Some(place) = place {
            lock(&self.shared).status.count(&place, begun.elapsed());
        }
        self.stations.feed(Event::Finished(lease));
        self.answer(job, Ok(answer));
    }

    fn answer(&mut self, job: JobId, answer: Result<JobAnswer, String>) {
        if let Some(order) = self.orders.remove(&job) {
            // The client may have stopped waiting.
            let _ = order.answer.send(answer);
        }
    }

    /// Publishes the state to clients, and gives up all jobs if no station can work.
    fn publish(&mut self) {
        if self.published.is_some_and(|published| published.elapsed() < PUBLISH) {
            return;
        }
        self.published = Some(Instant::now());
        let counts = self.stations.scheduler.counts();
        if counts.admitted > 0 || counts.leases > 0 {
            self.last_admitted = Instant::now();
        } else if self.last_admitted.elapsed() > self.patience {
            let reason = format!("no station can work; the last reason: {}", self.stations.last_reason());
            for job in self.orders.keys().copied().collect::<Vec<_>>() {
                self.stations.scheduler.cancel(job);
                self.answer(job, Err(reason.clone()));
            }
        }
        let scheduler = &self.stations.scheduler;
        // A lease of a lost station never ends here, so leases that the scheduler does not know are removed.
        self.held.retain(|&lease, held| held.begun.elapsed() < MINUTE || scheduler.job_of(lease).is_some());
        let views = self.stations.views();
        let mut shared = lock(&self.shared);
        shared.status.counts = counts;
        shared.status.stations = views;
        shared.status.clients = scheduler.clients();
        self.stations.last_reason().clone_into(&mut shared.status.last_reason);
        shared.status.forget_old();
    }
}
