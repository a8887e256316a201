//! The driver: one run over the stations of a cluster.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use passnet_record::{
    Fingerprint, GraphId, RunHeader, RunSettings, Verdict,
    fleet::{
        ClusterEvent, ClusterRequest, FLEET_PROTOCOL, GraphParcel, OpenStation, Parcel, StationFacts, StationReply,
        StationRequest,
    },
};
use passnet_run::{SampleFolder, Suite};

use crate::{
    bridge::{Bridge, BridgeConfig, BridgeNews},
    error::{FleetError, message},
    health::Check,
    job::{JobId, LeaseId, Priority, SlotId},
    ledger::{AuthorRun, Ledger, News, recorded_machine},
    parcel::{pack_candidate, pack_graph},
    schedule::{Action, Counts, Event, Policy, Scheduler},
};

/// Pause between two looks at the clock.
const TICK: Duration = Duration::from_millis(250);
/// Times that the bridge may end without a verdict in between.
const MAX_RECONNECTS: u32 = 5;

/// Options of a run over a fleet.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// Rules of the scheduler.
    pub policy: Policy,
    /// Evaluations at a time on one station; `None` for the default of the device.
    pub jobs: Option<usize>,
    /// Cores of a station; 0 for any.
    pub cores: usize,
    /// Longest time without a station that can work.
    pub patience: Duration,
    /// The bridge.
    pub bridge: BridgeConfig,
}

/// Progress of a run.
#[derive(Debug)]
pub enum FleetProgress<'a> {
    /// An author's verdict on a graph is in the log.
    Verdict {
        /// The verdict.
        verdict: &'a Verdict,
        /// It was in the log already.
        reused: bool,
        /// Graphs that have their verdicts now.
        done: usize,
        /// Graphs in all.
        total: usize,
    },
    /// State of the fleet, now and then.
    State {
        /// Numbers of the scheduler.
        counts: Counts,
        /// Graphs that have their verdicts now.
        graphs: usize,
    },
    /// Something that a person may want to know.
    Note(String),
}

/// A run over a fleet.
pub struct FleetRun<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// Authors, each with a log of its own.
    pub authors: &'a [AuthorRun],
    /// Settings of every evaluation.
    pub settings: &'a RunSettings,
    /// Options.
    pub options: &'a FleetOptions,
    /// Ends the run early, after the graphs in work, when it becomes true.
    pub stop: &'a AtomicBool,
    /// Called for each step.
    pub progress: &'a dyn Fn(FleetProgress<'_>),
}

/// Outcome of a run.
#[derive(Clone, Debug)]
pub struct FleetOutcome {
    /// Header and verdicts of each author.
    pub runs: Vec<(RunHeader, Vec<Verdict>)>,
    /// True if every graph has its verdicts.
    pub complete: bool,
    /// Number of verdicts that the logs had.
    pub reused: usize,
}

/// State of a run.
struct Driver<'a> {
    run: &'a FleetRun<'a>,
    bridge: Bridge,
    scheduler: Scheduler,
    begin: Instant,
    /// The machine of the run; the first station decides if no log does.
    machine: Option<Fingerprint>,
    /// Opened by the first station.
    ledger: Option<Ledger>,
    /// Graphs of each task; a job is the place of a task.
    tasks: Vec<Vec<GraphId>>,
    /// Names of stations for messages.
    names: BTreeMap<SlotId, String>,
    check: GraphParcel,
    given_up: Vec<(JobId, String)>,
    last_reason: String,
    last_admitted: Instant,
    reconnects: u32,
    stopping: bool,
}

impl FleetRun<'_> {
    /// Runs to the end, or until stopped.
    ///
    /// # Errors
    /// If a log cannot be written, the cluster cannot be reached, or tasks were given up.
    pub fn run(&self) -> Result<FleetOutcome, FleetError> {
        let mut driver = Driver::new(self)?;
        driver.work()?;
        driver.finish()
    }
}

impl<'a> Driver<'a> {
    fn new(run: &'a FleetRun<'a>) -> Result<Self, FleetError> {
        let machine = recorded_machine(run.authors)?;
        let id_of = |task: &str, graph: &String| GraphId { task: task.to_owned(), graph: graph.clone() };
        let records = &run.suite.record.tasks;
        let tasks: Vec<Vec<GraphId>> =
            records.iter().map(|task| task.graphs.iter().map(|graph| id_of(&task.id, graph)).collect()).collect();
        let mut scheduler = Scheduler::new(run.options.policy);
        for job in 0..tasks.len() {
            // A run is one client, whose quota is not for its own queue.
            let _ = scheduler.submit(JobId(job as u64), "run", Priority::Batch);
        }
        let check = run.suite.graphs().map(|id| SampleFolder::read(&run.suite.sample_dir(&id), id));
        let check = check.filter(|folder| folder.sample.is_ok()).map(|folder| pack_graph(&folder)).next();
        let check = check.ok_or_else(|| FleetError::Parcel("no graph of the suite can be read".to_owned()))?;
        let now = Instant::now();
        Ok(Self {
            bridge: Bridge::start(&run.options.bridge)?,
            run,
            scheduler,
            begin: now,
            machine,
            ledger: None,
            tasks,
            names: BTreeMap::new(),
            check,
            given_up: Vec::new(),
            last_reason: "no station was started".to_owned(),
            last_admitted: now,
            reconnects: 0,
            stopping: false,
        })
    }

    fn work(&mut self) -> Result<(), FleetError> {
        loop {
            match self.bridge.next(TICK) {
                None => {}
                Some(BridgeNews::Event(event)) => self.cluster_event(event)?,
                Some(BridgeNews::Garbage(error)) => return Err(error),
                Some(BridgeNews::Ended(words)) => self.reconnect(words)?,
            }
            self.feed(Event::Tick)?;
            if self.run.stop.load(Ordering::Relaxed) && !self.stopping {
                self.drain();
            }
            let counts = self.scheduler.counts();
            let graphs = self.ledger.as_ref().map(Ledger::settled).unwrap_or_default();
            (self.run.progress)(FleetProgress::State { counts, graphs });
            if self.scheduler.unfinished() == 0 && counts.leases == 0 {
                return Ok(());
            }
            if counts.admitted > 0 || counts.leases > 0 {
                self.last_admitted = Instant::now();
            } else if self.last_admitted.elapsed() > self.run.options.patience {
                return Err(FleetError::NoStation { reason: self.last_reason.clone() });
            }
        }
    }

    /// Begins no more graphs.
    fn drain(&mut self) {
        self.stopping = true;
        for job in 0..self.tasks.len() {
            self.scheduler.cancel(JobId(job as u64));
        }
        let slots: Vec<SlotId> = self.names.keys().copied().collect();
        for slot in slots {
            self.send(slot, &StationRequest::Stop);
        }
    }

    /// Starts the bridge again: all its stations are gone.
    fn reconnect(&mut self, words: String) -> Result<(), FleetError> {
        self.reconnects += 1;
        if self.reconnects > MAX_RECONNECTS || self.stopping {
            return Err(FleetError::Unreachable { times: self.reconnects, message: words });
        }
        self.note(format!("the connection to the cluster was lost and is made again: {words}"));
        for slot in std::mem::take(&mut self.names).into_keys() {
            self.feed(Event::Lost(slot))?;
        }
        std::thread::sleep(Duration::from_secs(1 << self.reconnects.min(5)));
        self.bridge = Bridge::start(&self.run.options.bridge)?;
        Ok(())
    }

    fn cluster_event(&mut self, event: ClusterEvent) -> Result<(), FleetError> {
        match event {
            ClusterEvent::Joined { slot, node } => {
                let slot = SlotId(slot);
                self.names.insert(slot, format!("station {} on {node}", slot.0));
                self.feed(Event::Joined(slot))?;
                let options = self.run.options;
                let open = OpenStation {
                    protocol: FLEET_PROTOCOL,
                    settings: self.run.settings.clone(),
                    jobs: options.jobs,
                    cores: options.cores,
                    foreign_memory_bytes: options.policy.health.foreign_memory_bytes,
                };
                self.send(slot, &StationRequest::Open(Box::new(open)));
                Ok(())
            }
            ClusterEvent::Line { slot, line } => self.reply(SlotId(slot), message(&line)?),
            ClusterEvent::Lost { slot, reason } => {
                if self.names.contains_key(&SlotId(slot)) {
                    self.note(format!("{} was lost: {reason}", self.name(SlotId(slot))));
                    self.last_reason = reason;
                }
                self.names.remove(&SlotId(slot));
                self.feed(Event::Lost(SlotId(slot)))
            }
            ClusterEvent::Note { text } => {
                self.note(text);
                Ok(())
            }
        }
    }

    fn reply(&mut self, slot: SlotId, reply: StationReply) -> Result<(), FleetError> {
        if !self.names.contains_key(&slot) {
            // A station that was lost, on a connection that is slower than the news.
            return Ok(());
        }
        match reply {
            StationReply::Ready(facts) => self.ready(slot, *facts),
            StationReply::Unfit { reason } => {
                self.note(format!("{} cannot be used: {reason}", self.name(slot)));
                self.last_reason = reason;
                Ok(())
            }
            StationReply::Verdict { lease, author, verdict, blobs } => {
                let id = verdict.id.clone();
                self.news(LeaseId(lease), author, &id, News::Verdict(verdict, blobs))
            }
            StationReply::Known { lease, author, id } => self.news(LeaseId(lease), author, &id, News::Known),
            StationReply::Done { lease, complete } => self.done(LeaseId(lease), complete),
            StationReply::Failed { lease, message } => {
                self.last_reason.clone_from(&message);
                self.feed(Event::Failed(LeaseId(lease), message))
            }
            StationReply::Checked { lease, verdict, memory_bytes } => {
                self.feed(Event::Checked(LeaseId(lease), Check::of(&verdict, memory_bytes)))
            }
        }
    }

    fn ready(&mut self, slot: SlotId, facts: StationFacts) -> Result<(), FleetError> {
        let machine = self.machine.get_or_insert_with(|| facts.fingerprint.clone()).clone();
        let foreign = difference(&machine, &facts.fingerprint);
        if self.ledger.is_none() && foreign.is_none() {
            let (suite, authors) = (self.run.suite, self.run.authors);
            self.ledger = Some(Ledger::open(suite, authors, self.run.settings, &machine)?);
        }
        let name = format!("{}, {}", self.name(slot), facts.device);
        self.names.insert(slot, name);
        self.feed(Event::Ready { slot, capacity: facts.capacity, foreign })
    }

    fn news(&mut self, lease: LeaseId, author: usize, id: &GraphId, news: News) -> Result<(), FleetError> {
        self.feed(Event::Progress(lease))?;
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        let Some(settled) = ledger.add(lease, author, id, news)? else { return Ok(()) };
        self.reconnects = 0;
        let (done, total) = (ledger.settled(), self.tasks.iter().map(Vec::len).sum());
        for (verdict, reused) in &settled {
            (self.run.progress)(FleetProgress::Verdict { verdict, reused: *reused, done, total });
        }
        Ok(())
    }

    fn done(&mut self, lease: LeaseId, complete: bool) -> Result<(), FleetError> {
        let job = self.scheduler.job_of(lease);
        let graphs = job.and_then(|job| self.tasks.get(job.0 as usize));
        let has_all = graphs.is_none_or(|ids| self.ledger.as_ref().is_some_and(|ledger| ledger.has(ids.iter())));
        if self.stopping || (complete && has_all) {
            return self.feed(Event::Finished(lease));
        }
        self.feed(Event::Failed(lease, "the station ended a task without all of its verdicts".to_owned()))
    }

    /// Passes an event to the scheduler and carries its actions out.
    fn feed(&mut self, event: Event) -> Result<(), FleetError> {
        for action in self.scheduler.handle(self.begin.elapsed(), event) {
            match action {
                Action::Lease { slot, lease, job } => {
                    let parcel = self.parcel(job);
                    self.send(slot, &StationRequest::Evaluate { lease: lease.0, parcel: Box::new(parcel) });
                }
                Action::Check { slot, lease } => {
                    let graph = Box::new(self.check.clone());
                    self.send(slot, &StationRequest::Check { lease: lease.0, graph });
                }
                Action::Restart { slot, reason } => {
                    self.note(format!("{} is started again: {reason}", self.name(slot)));
                    self.bridge.send(&ClusterRequest::Restart { slot: slot.0 });
                }
                Action::Admitted(slot) => tracing::info!("{} takes tasks", self.name(slot)),
                Action::SetAside { slot, reason } => {
                    self.note(format!("{} is set aside: {reason}", self.name(slot)));
                    self.last_reason = reason;
                }
                Action::Doubt(job) => self.doubt(job),
                Action::GiveUp { job, reason } => self.given_up.push((job, reason)),
            }
        }
        Ok(())
    }

    /// Evaluates a task again.
    fn doubt(&mut self, job: JobId) {
        let Some(ids) = self.tasks.get(job.0 as usize) else { return };
        if let Some(ledger) = &mut self.ledger {
            ledger.reopen(ids.iter());
        }
        if !self.stopping {
            let _ = self.scheduler.submit(job, "run", Priority::Batch);
        }
    }

    fn parcel(&self, job: JobId) -> Parcel {
        let record = &self.run.suite.record.tasks[job.0 as usize];
        let ids = &self.tasks[job.0 as usize];
        let graphs = ids.iter().map(|id| SampleFolder::read(&self.run.suite.sample_dir(id), id.clone()));
        let nothing = passnet_eval::Candidate::Passes(passnet_record::PassDirectory::empty());
        let of = |author: &AuthorRun| {
            author.submission.candidates.get(&record.id).map_or_else(|| pack_candidate(&nothing), pack_candidate)
        };
        Parcel {
            task: record.id.clone(),
            graphs: graphs.map(|folder| pack_graph(&folder)).collect(),
            candidates: self.run.authors.iter().map(of).collect(),
            known: self.ledger.as_ref().map(|ledger| ledger.known(ids.iter())).unwrap_or_default(),
        }
    }

    fn send(&mut self, slot: SlotId, request: &StationRequest) {
        // Plain data: writing it as JSON does not fail.
        let line = serde_json::to_string(request).unwrap_or_default();
        self.bridge.send(&ClusterRequest::Send { slot: slot.0, line });
    }

    fn name(&self, slot: SlotId) -> String {
        self.names.get(&slot).cloned().unwrap_or_else(|| format!("station {}", slot.0))
    }

    fn note(&self, text: String) {
        (self.run.progress)(FleetProgress::Note(text));
    }

    fn finish(self) -> Result<FleetOutcome, FleetError> {
        let Self { run, bridge, ledger, tasks, given_up, begin, .. } = self;
        drop(bridge);
        let total = tasks.iter().map(Vec::len).sum::<usize>();
        let Some(ledger) = ledger else { return Ok(FleetOutcome { runs: Vec::new(), complete: false, reused: 0 }) };
        let (reused, complete) = (ledger.reused, ledger.settled() == total);
        let runs = ledger.close(run.suite, begin.elapsed().as_nanos() as u64, complete)?;
        if let Some((job, reason)) = given_up.first() {
            let task = run.suite.record.tasks[job.0 as usize].id.clone();
            return Err(FleetError::GivenUp { jobs: given_up.len(), task, reason: reason.clone() });
        }
        Ok(FleetOutcome { runs, complete, reused })
    }
}

/// Returns what distinguishes another machine from that of the run; `None` if its verdicts can be in the same log.
fn difference(run: &Fingerprint, other: &Fingerprint) -> Option<String> {
    let field = |name: &str, run: &str, other: &str| {
        (run != other).then(|| format!("another machine: {name} is {other}, that of the run is {run}"))
    };
    let debug = |value: &BTreeMap<String, String>| format!("{value:?}");
    field("the CPU", &run.cpu, &other.cpu)
        .or_else(|| field("the device", &run.device, &other.device))
        .or_else(|| field("the driver", &run.driver, &other.driver))
        .or_else(|| field("the kernel", &run.os, &other.os))
        .or_else(|| field("the list of versions", &debug(&run.versions), &debug(&other.versions)))
        .or_else(|| field("the sandbox", &debug(&run.sandbox), &debug(&other.sandbox)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_one_kind_of_machine() {
        let run = Fingerprint { cpu: "A x 2".to_owned(), ..Fingerprint::default() };
        assert_eq!(difference(&run, &run), None);
        let other = Fingerprint { driver: "2".to_owned(), ..run.clone() };
        let text = difference(&run, &other).unwrap();
        assert!(text.contains("the driver is 2"), "{text}");
    }
}
