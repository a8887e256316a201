//! A fleet that serves clients: each job is one candidate on one graph, and its client waits for the answer.

mod shared;
mod worker;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use passnet_eval::Candidate;
use passnet_record::{
    Fingerprint, RunSettings,
    fleet::{FleetClient, Parcel, Wanted},
};
use passnet_run::{GraphSample, SampleFolder, Suite};

pub use self::shared::JobAnswer;
use self::{
    shared::{JobRequest, ServiceState, lock},
    worker::ServiceLoop,
};
use crate::{
    admission::{AdmissionLimits, AdmissionRefusal, Admissions, retry_after},
    error::FleetError,
    parcel::{pack_candidate, pack_graph},
    run::FleetOptions,
    stations::{Stations, first_readable},
    status::{FleetStatus, status_page, status_text},
};

#[derive(Clone, Debug)]
pub struct ServiceOptions {
    /// Options of the fleet. `patience` bounds the wait for the first station, and that of a job without any station.
    pub fleet: FleetOptions,
    /// Limits of actions.
    pub limits: AdmissionLimits,
}

/// A running fleet that serves clients. Dropping it ends its stations.
pub struct FleetService {
    orders: mpsc::Sender<JobRequest>,
    shared: Arc<Mutex<ServiceState>>,
    machine: Fingerprint,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for FleetService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FleetService").field("machine", &self.machine).finish_non_exhaustive()
    }
}

impl FleetService {
    /// Starts stations for evaluations under these settings and waits for the first one that is healthy. The suite gives the
    /// graph that stations are checked with.
    ///
    /// # Errors
    /// If the cluster cannot be reached, or no station is healthy in time.
    pub fn start(suite: &Suite, settings: &RunSettings, options: &ServiceOptions) -> Result<Self, FleetError> {
        let check = first_readable(suite)?;
        // Trainers keep running while a cluster restarts, so the service keeps trying to connect.
        let stations = Stations::start(&options.fleet, settings, check, None, u32::MAX)?;
        let shared = Arc::new(Mutex::new(ServiceState {
            admissions: Admissions::new(options.limits),
            status: FleetStatus::default(),
            machine: None,
            ended: None,
        }));
        let stop = Arc::new(AtomicBool::new(false));
        let (orders, inbox) = mpsc::channel();
        let worker = ServiceLoop::new(stations, inbox, Arc::clone(&shared), Arc::clone(&stop), options.fleet.patience);
        let thread = Some(std::thread::spawn(move || worker.work()));
        let mut service = Self { orders, shared, machine: Fingerprint::default(), stop, thread };
        service.machine = service.wait_for_station(options.fleet.patience)?;
        Ok(service)
    }

    fn wait_for_station(&self, patience: Duration) -> Result<Fingerprint, FleetError> {
        let begin = Instant::now();
        loop {
            let shared = lock(&self.shared);
            if let Some(message) = &shared.ended {
                return Err(FleetError::Unreachable { times: 1, message: message.clone() });
            }
            // A connected station is not enough: it must also have passed its check.
            if shared.status.counts.admitted > 0
                && let Some(machine) = &shared.machine
            {
                return Ok(machine.clone());
            }
            if begin.elapsed() > patience {
                return Err(FleetError::NoStation { reason: shared.status.last_reason.clone() });
            }
            drop(shared);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the machine on which verdicts are measured.
    pub fn machine(&self) -> &Fingerprint {
        &self.machine
    }

    /// Admits an action of a client, until [`Self::leave`].
    ///
    /// # Errors
    /// If the client or the queue has as many actions as it may have.
    pub fn admit(&self, client: &FleetClient) -> Result<(), AdmissionRefusal> {
        let mut shared = lock(&self.shared);
        // Computed under the lock of the admission, so that the advice fits the refusal.
        let wait = retry_after(shared.admissions.all(), shared.status.counts.places, shared.status.mean);
        shared.admissions.admit(&client.name, wait)
    }

    /// Ends an action that was admitted.
    pub fn leave(&self, client: &FleetClient) {
        lock(&self.shared).admissions.leave(&client.name);
    }

    /// Evaluates one candidate on one graph and waits for the answer. If a station is lost in the meantime, another one evaluates.
    ///
    /// # Errors
    /// If there is no station for a long time, or the job lost too many of them.
    pub fn evaluate(
        &self,
        client: &FleetClient,
        sample: &GraphSample,
        candidate: &Candidate,
        wanted: Wanted,
    ) -> Result<JobAnswer, FleetError> {
        let folder = SampleFolder { id: sample.id().clone(), sample: Ok(sample.clone()) };
        let parcel = Box::new(Parcel {
            task: sample.id().task.clone(),
            graphs: vec![pack_graph(&folder)],
            candidates: vec![pack_candidate(candidate)],
            known: Vec::new(),
            wanted,
        });
        let (answer, answers) = mpsc::channel();
        let over =
            || FleetError::Service(lock(&self.shared).ended.clone().unwrap_or_else(|| "it has ended".to_owned()));
        self.orders.send(JobRequest { client: client.clone(), parcel, answer }).map_err(|_| over())?;
        answers.recv().map_err(|_| over())?.map_err(FleetError::Service)
    }

    /// Returns the state as Prometheus text.
    pub fn metrics(&self) -> String {
        let shared = lock(&self.shared);
        status_text(&shared.status, shared.admissions.all(), shared.admissions.refused)
    }

    /// Returns the state as an HTML page.
    pub fn page(&self) -> String {
        let shared = lock(&self.shared);
        status_page(&shared.status, shared.admissions.all(), shared.admissions.refused)
    }
}

impl Drop for FleetService {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // An error is a panic of that thread, which was printed.
            let _ = thread.join();
        }
    }
}
