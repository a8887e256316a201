//! The driver: one run over the stations of a cluster.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use passnet_record::{
    GraphId,
    fleet::{Parcel, Priority, StationReply, StationRequest, Wanted},
};
use passnet_run::SampleFolder;

use crate::{
    error::FleetError,
    event::Event,
    job::{JobId, LeaseId},
    ledger::{AuthorRun, Ledger, News, Settled, recorded_machine},
    parcel::{pack_candidate, pack_graph},
    run::{FleetOutcome, FleetProgress, FleetRun},
    stations::{Stations, StationsNews, first_readable},
};

/// Longest wait for messages of the cluster before the stop flag and the time limits are checked.
const TICK: Duration = Duration::from_millis(250);
/// Least time between two reports of the state.
const REPORT: Duration = Duration::from_secs(1);
/// Number of times that the bridge may end in a row without a verdict.
const MAX_RECONNECTS: u32 = 5;

/// State of a run.
struct Driver<'a> {
    run: &'a FleetRun<'a>,
    stations: Stations,
    begin: Instant,
    /// Opened by the first station.
    ledger: Option<Ledger>,
    /// Graphs of each task; a job is the place of a task.
    tasks: Vec<Vec<GraphId>>,
    given_up: Vec<(JobId, String)>,
    last_admitted: Instant,
    reported: Option<Instant>,
    stopping: bool,
}

impl FleetRun<'_> {
    /// Evaluates all tasks, or until `stop` is set.
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
        let check = first_readable(run.suite)?;
        let mut stations = Stations::start(run.options, run.settings, check, machine, MAX_RECONNECTS)?;
        for job in 0..tasks.len() {
            // All tasks come from one client. The default quota has no limit, so this cannot fail.
            let _ = stations.scheduler.submit(JobId(job as u64), "run", Priority::Batch);
        }
        let now = Instant::now();
        Ok(Self {
            run,
            stations,
            begin: now,
            ledger: None,
            tasks,
            given_up: Vec::new(),
            last_admitted: now,
            reported: None,
            stopping: false,
        })
    }

    fn work(&mut self) -> Result<(), FleetError> {
        loop {
            self.stations.step(TICK)?;
            while let Some(news) = self.stations.next() {
                self.handle(news)?;
            }
            if self.run.stop.load(Ordering::Relaxed) && !self.stopping {
                self.drain();
            }
            let counts = self.stations.scheduler.counts();
            if self.reported.is_none_or(|reported| reported.elapsed() >= REPORT) {
                self.reported = Some(Instant::now());
                let graphs = self.ledger.as_ref().map(Ledger::settled).unwrap_or_default();
                (self.run.progress)(FleetProgress::State { counts, graphs, stations: &self.stations.views() });
            }
            if self.stations.scheduler.unfinished() == 0 && counts.leases == 0 {
                return Ok(());
            }
            // A lease counts as well: the check of a busy station may have failed, while its last tasks still finish.
            if counts.admitted > 0 || counts.leases > 0 {
                self.last_admitted = Instant::now();
            } else if self.last_admitted.elapsed() > self.run.options.patience {
                return Err(FleetError::NoStation { reason: self.stations.last_reason().to_owned() });
            }
        }
    }

    /// Cancels all tasks and asks the stations to finish their current graphs.
    fn drain(&mut self) {
        self.stopping = true;
        for job in 0..self.tasks.len() {
            self.stations.scheduler.cancel(JobId(job as u64));
        }
        self.stations.stop();
    }

    fn handle(&mut self, news: StationsNews) -> Result<(), FleetError> {
        match news {
            StationsNews::Machine(machine) => {
                if self.ledger.is_none() {
                    let (suite, authors) = (self.run.suite, self.run.authors);
                    self.ledger = Some(Ledger::open(suite, authors, self.run.settings, &machine)?);
                }
                Ok(())
            }
            StationsNews::Lease { slot, lease, job } => {
                let parcel = Box::new(self.parcel(job));
                self.stations.send(slot, &StationRequest::Evaluate { lease: lease.0, parcel });
                Ok(())
            }
            StationsNews::Reply(reply) => self.reply(reply),
            StationsNews::Doubt(job) => {
                self.doubt(job);
                Ok(())
            }
            StationsNews::GiveUp { job, reason } => {
                self.given_up.push((job, reason));
                Ok(())
            }
            StationsNews::Note(text) => {
                (self.run.progress)(FleetProgress::Note(text));
                Ok(())
            }
        }
    }

    fn reply(&mut self, reply: StationReply) -> Result<(), FleetError> {
        match reply {
            StationReply::Verdict { lease, author, verdict, blobs } => {
                let id = verdict.id.clone();
                self.news(LeaseId(lease), author, &id, News::Verdict(verdict, blobs))
            }
            StationReply::Known { lease, author, id } => self.news(LeaseId(lease), author, &id, News::Known),
            StationReply::Done { lease, complete } => {
                self.done(LeaseId(lease), complete);
                Ok(())
            }
            // `Stations` handles the other replies, and a run requests no profiles.
            _ => Ok(()),
        }
    }

    fn news(&mut self, lease: LeaseId, author: usize, id: &GraphId, news: News) -> Result<(), FleetError> {
        // Before the ledger, because even a verdict that is not needed shows that the station is alive.
        self.stations.feed(Event::Progress(lease));
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        let Some(settled) = ledger.add(lease, author, id, news)? else { return Ok(()) };
        self.stations.has_worked();
        let (done, total) = (ledger.settled(), self.tasks.iter().map(Vec::len).sum());
        for Settled { author, verdict, reused } in &settled {
            (self.run.progress)(FleetProgress::Verdict { author: *author, verdict, reused: *reused, done, total });
        }
        Ok(())
    }

    fn done(&mut self, lease: LeaseId, complete: bool) {
        let job = self.stations.scheduler.job_of(lease);
        let graphs = job.and_then(|job| self.tasks.get(job.0 as usize));
        let has_all = graphs.is_none_or(|ids| self.ledger.as_ref().is_some_and(|ledger| ledger.has(ids.iter())));
        // A report of the station is not enough: the task is done when the log has all its verdicts.
        if self.stopping || (complete && has_all) {
            return self.stations.feed(Event::Finished(lease));
        }
        let reason = "the station ended a task without all of its verdicts".to_owned();
        self.stations.feed(Event::Failed(lease, reason));
    }

    /// Evaluates a task again, because its device was biased.
    fn doubt(&mut self, job: JobId) {
        let Some(ids) = self.tasks.get(job.0 as usize) else { return };
        if let Some(ledger) = &mut self.ledger {
            ledger.reopen(ids.iter());
        }
        if !self.stopping {
            let _ = self.stations.scheduler.submit(job, "run", Priority::Batch);
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
            // The station computes the content keys and skips graphs whose key is unchanged.
            known: self.ledger.as_ref().map(|ledger| ledger.known(ids.iter())).unwrap_or_default(),
            wanted: Wanted::Verdict,
        }
    }

    fn finish(self) -> Result<FleetOutcome, FleetError> {
        let Self { run, stations, ledger, tasks, given_up, begin, .. } = self;
        // Ends the stations before the log is closed: no reply can arrive for a closed log.
        drop(stations);
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
