//! The stations of a cluster and their scheduler: opens stations, carries out the scheduler's actions, and reconnects after a
//! lost connection.
//!
//! A run and the service for trainers use it in the same way: they submit jobs, send a parcel for each lease, and read the replies.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use passnet_record::{
    Fingerprint, RunSettings,
    fleet::{
        ClusterEvent, ClusterRequest, FLEET_PROTOCOL, GraphParcel, OpenStation, StationFacts, StationReply,
        StationRequest,
    },
};
use passnet_run::{SampleFolder, Suite};

use crate::{
    bridge::{Bridge, BridgeConfig, BridgeNews},
    error::{FleetError, message},
    event::{Action, Event},
    health::HealthCheck,
    job::{JobId, LeaseId, SlotId},
    parcel::pack_graph,
    run::FleetOptions,
    schedule::Scheduler,
    view::StationView,
};

/// Longest pause before the bridge is started again, as a power of two in seconds.
const LONGEST_PAUSE: u32 = 5;

/// News for the owner of the stations.
#[derive(Debug)]
pub(crate) enum StationsNews {
    /// The machine on which verdicts are measured. Sent before the first lease.
    Machine(Fingerprint),
    /// A job got a station: send its parcel.
    Lease { slot: SlotId, lease: LeaseId, job: JobId },
    /// A station replied about a lease.
    Reply(StationReply),
    /// A job was done on a device that then gave biased measurements.
    Doubt(JobId),
    /// A job lost too many stations.
    GiveUp { job: JobId, reason: String },
    /// Text for people.
    Note(String),
}

/// Host and device of a station.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StationLocation {
    /// Name of its host.
    pub(crate) node: String,
    /// Name of its device; empty until its referee runs.
    pub(crate) device: String,
}

/// The stations of a cluster. Dropping it ends them.
pub(crate) struct Stations {
    pub(crate) scheduler: Scheduler,
    config: BridgeConfig,
    bridge: Bridge,
    begin: Instant,
    open: OpenStation,
    /// A graph that every station measures against itself.
    check: GraphParcel,
    /// The machine of all stations; the first one decides if none is given.
    machine: Option<Fingerprint>,
    /// Locations of the current stations.
    places: BTreeMap<SlotId, StationLocation>,
    /// Reasons why stations were set aside.
    reasons: BTreeMap<SlotId, String>,
    news: VecDeque<StationsNews>,
    last_reason: String,
    reconnects: u32,
    max_reconnects: u32,
    /// The bridge has reached the cluster at least once.
    connected: bool,
    stopping: bool,
}

/// Packs the first graph of a suite that can be read.
///
/// # Errors
/// If there is none.
pub(crate) fn first_readable(suite: &Suite) -> Result<GraphParcel, FleetError> {
    let mut folders = suite.graphs().map(|id| SampleFolder::read(&suite.sample_dir(&id), id));
    let found = folders.find(|folder| folder.sample.is_ok());
    let found = found.ok_or_else(|| FleetError::Parcel("no graph of the suite can be read".to_owned()))?;
    Ok(pack_graph(&found))
}

impl Stations {
    /// Starts the bridge, which starts stations.
    pub(crate) fn start(
        options: &FleetOptions,
        settings: &RunSettings,
        check: GraphParcel,
        machine: Option<Fingerprint>,
        max_reconnects: u32,
    ) -> Result<Self, FleetError> {
        let mut news = VecDeque::new();
        news.extend(machine.clone().map(StationsNews::Machine));
        Ok(Self {
            scheduler: Scheduler::new(options.policy),
            bridge: Bridge::start(&options.bridge)?,
            config: options.bridge.clone(),
            begin: Instant::now(),
            open: OpenStation {
                protocol: FLEET_PROTOCOL,
                settings: settings.clone(),
                jobs: options.jobs,
                cores: options.cores,
                foreign_memory_bytes: options.policy.health.foreign_memory_bytes,
            },
            check,
            machine,
            places: BTreeMap::new(),
            reasons: BTreeMap::new(),
            news,
            last_reason: "the cluster has not answered, or has not started a station".to_owned(),
            reconnects: 0,
            max_reconnects,
            connected: false,
            stopping: false,
        })
    }

    /// Waits for news of the cluster, not longer than `wait`, and lets the scheduler act on them.
    pub(crate) fn step(&mut self, wait: Duration) -> Result<(), FleetError> {
        match self.bridge.next(wait) {
            None => {}
            Some(BridgeNews::Event(event)) => self.cluster_event(event)?,
            Some(BridgeNews::Garbage(error)) => return Err(error),
            Some(BridgeNews::Ended(words)) => self.reconnect(words)?,
        }
        self.feed(Event::Tick);
        Ok(())
    }

    /// Removes and returns the oldest message.
    pub(crate) fn next(&mut self) -> Option<StationsNews> {
        self.news.pop_front()
    }

    /// Returns the last reason why a station could not work.
    pub(crate) fn last_reason(&self) -> &str {
        &self.last_reason
    }

    /// Resets the count of failed connections. Called after a verdict has arrived.
    pub(crate) fn has_worked(&mut self) {
        self.reconnects = 0;
    }

    /// Asks all stations to finish their current graphs and to end.
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        let slots: Vec<SlotId> = self.places.keys().copied().collect();
        for slot in slots {
            self.send(slot, &StationRequest::Stop);
        }
    }

    pub(crate) fn send(&mut self, slot: SlotId, request: &StationRequest) {
        // Plain data: writing it as JSON does not fail.
        let line = serde_json::to_string(request).unwrap_or_default();
        self.bridge.send(&ClusterRequest::Send { slot: slot.0, line });
    }

    /// Returns the name of a station, for people.
    pub(crate) fn name(&self, slot: SlotId) -> String {
        match self.places.get(&slot) {
            None => format!("station {}", slot.0),
            Some(place) if place.device.is_empty() => format!("station {} on {}", slot.0, place.node),
            Some(place) => format!("station {} on {}, {}", slot.0, place.node, place.device),
        }
    }

    /// Returns the state of each station.
    pub(crate) fn views(&self) -> Vec<StationView> {
        let mut views = self.scheduler.stations();
        for view in &mut views {
            if let Some(place) = self.places.get(&view.slot) {
                (view.node, view.device) = (place.node.clone(), place.device.clone());
            }
            view.reason = self.reasons.get(&view.slot).cloned().unwrap_or_default();
        }
        views
    }

    /// Returns the location of a station; `None` if it is not connected.
    pub(crate) fn place(&self, slot: SlotId) -> Option<&StationLocation> {
        self.places.get(&slot)
    }

    /// Starts the bridge again: all its stations are gone.
    fn reconnect(&mut self, words: String) -> Result<(), FleetError> {
        self.reconnects = self.reconnects.saturating_add(1);
        if self.reconnects > self.max_reconnects || self.stopping || !self.connected {
            return Err(FleetError::Unreachable { times: self.reconnects, message: words });
        }
        self.note(format!("the connection to the cluster was lost and is made again: {words}"));
        for slot in std::mem::take(&mut self.places).into_keys() {
            self.feed(Event::Lost(slot));
        }
        std::thread::sleep(Duration::from_secs(1 << self.reconnects.min(LONGEST_PAUSE)));
        self.bridge = Bridge::start(&self.config)?;
        Ok(())
    }

    fn cluster_event(&mut self, event: ClusterEvent) -> Result<(), FleetError> {
        self.connected = true;
        match event {
            ClusterEvent::Joined { slot, node } => {
                let slot = SlotId(slot);
                self.places.insert(slot, StationLocation { node, device: String::new() });
                self.feed(Event::Joined(slot));
                let open = StationRequest::Open(Box::new(self.open.clone()));
                self.send(slot, &open);
            }
            ClusterEvent::Line { slot, line } => self.reply(SlotId(slot), message(&line)?),
            ClusterEvent::Lost { slot, reason } => {
                if self.places.contains_key(&SlotId(slot)) {
                    self.note(format!("{} was lost: {reason}", self.name(SlotId(slot))));
                    self.last_reason = reason;
                }
                self.places.remove(&SlotId(slot));
                self.reasons.remove(&SlotId(slot));
                self.feed(Event::Lost(SlotId(slot)));
            }
            ClusterEvent::Note { text } => {
                // Notes of the bridge are reasons why it could not start a station.
                self.last_reason.clone_from(&text);
                self.note(text);
            }
        }
        Ok(())
    }

    fn reply(&mut self, slot: SlotId, reply: StationReply) {
        if !self.places.contains_key(&slot) {
            // The station was lost, and this message arrived later.
            return;
        }
        match reply {
            StationReply::Ready(facts) => self.ready(slot, &facts),
            StationReply::Unfit { reason } => {
                self.note(format!("{} cannot be used: {reason}", self.name(slot)));
                self.reasons.insert(slot, reason.clone());
                self.last_reason = reason;
            }
            StationReply::Failed { lease, message } => {
                self.last_reason.clone_from(&message);
                self.feed(Event::Failed(LeaseId(lease), message));
            }
            StationReply::Checked { lease, verdict, memory_bytes } => {
                let check = HealthCheck::of(self.open.settings.device, &verdict, memory_bytes);
                self.feed(Event::Checked(LeaseId(lease), check));
            }
            reply => self.news.push_back(StationsNews::Reply(reply)),
        }
    }

    fn ready(&mut self, slot: SlotId, facts: &StationFacts) {
        let machine = match &self.machine {
            Some(machine) => machine,
            None => {
                self.news.push_back(StationsNews::Machine(facts.fingerprint.clone()));
                self.machine.insert(facts.fingerprint.clone())
            }
        };
        let foreign = difference(machine, &facts.fingerprint);
        if let Some(place) = self.places.get_mut(&slot) {
            place.device.clone_from(&facts.device);
        }
        self.feed(Event::Ready { slot, capacity: facts.capacity, foreign });
    }

    /// Passes an event to the scheduler and carries its actions out.
    pub(crate) fn feed(&mut self, event: Event) {
        for action in self.scheduler.handle(self.begin.elapsed(), event) {
            match action {
                Action::Lease { slot, lease, job } => self.news.push_back(StationsNews::Lease { slot, lease, job }),
                Action::Check { slot, lease } => {
                    let graph = Box::new(self.check.clone());
                    self.send(slot, &StationRequest::Check { lease: lease.0, graph });
                }
                Action::Restart { slot, reason } => {
                    self.note(format!("{} is started again: {reason}", self.name(slot)));
                    self.reasons.insert(slot, reason);
                    self.bridge.send(&ClusterRequest::Restart { slot: slot.0 });
                }
                Action::Admitted(slot) => {
                    self.reasons.remove(&slot);
                    tracing::info!("{} takes tasks", self.name(slot));
                }
                Action::SetAside { slot, reason } => {
                    self.note(format!("{} is set aside: {reason}", self.name(slot)));
                    self.reasons.insert(slot, reason.clone());
                    self.last_reason = reason;
                }
                Action::Doubt(job) => self.news.push_back(StationsNews::Doubt(job)),
                Action::GiveUp { job, reason } => self.news.push_back(StationsNews::GiveUp { job, reason }),
            }
        }
    }

    fn note(&mut self, text: String) {
        self.news.push_back(StationsNews::Note(text));
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
