//! A station: one referee, driven by lines on standard input, answered by lines on standard output.
//!
//! The end of standard input is the end of the station: an actor that is killed closes it, so that no station outlives its
//! actor. The referee's own processes die with it.

use std::{
    io::{BufRead, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
};

use passnet_eval::{Candidate, EvalError, Referee, physical_name};
use passnet_record::{
    RunSettings,
    fleet::{
        FLEET_PROTOCOL, FileContent, GraphParcel, OpenStation, Parcel, StationFacts, StationReply, StationRequest,
        Wanted,
    },
};
use passnet_run::SampleFolder;
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::{
    device::{ClaimedCores, memory_in_use},
    error::{FleetError, message},
    parcel::{unpack_candidate, unpack_graph},
};

/// Starts a referee; an error is the reason why this machine cannot have one.
pub type StartReferee<'a> = &'a (dyn Fn(RunSettings, Option<usize>) -> Result<Referee, String> + Sync);

/// Output of the replies, one write per line.
#[derive(Clone)]
struct Replies(Arc<Mutex<Box<dyn Write + Send>>>);

impl Replies {
    fn send(&self, reply: &StationReply) {
        let mut line = serde_json::to_vec(reply).unwrap_or_default();
        line.push(b'\n');
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A reader that is gone also closes the input, which ends the station.
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }
}

/// Makes the kernel end this process when the thread that started it ends. That thread belongs to an actor or a task of the cluster.
pub fn end_with_parent() {
    // This cannot fail for a valid signal.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

/// Serves requests until the end of the input or [`StationRequest::Stop`].
///
/// # Errors
/// If the first request is not [`StationRequest::Open`], or a later line is not a request.
pub fn serve_station(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    start: StartReferee<'_>,
) -> Result<(), FleetError> {
    // In addition to the end of the input, which a hanging station would not notice.
    end_with_parent();
    let replies = Replies(Arc::new(Mutex::new(Box::new(output))));
    let requests = read_requests(input);
    let Ok(first) = requests.recv() else { return Ok(()) };
    let StationRequest::Open(open) = first? else {
        return Err(FleetError::Parcel("the first request does not open the station".to_owned()));
    };
    match Station::open(&open, start) {
        Ok((station, facts)) => {
            replies.send(&StationReply::Ready(Box::new(facts)));
            station.serve(&requests, &replies)
        }
        Err(reason) => {
            replies.send(&StationReply::Unfit { reason });
            Ok(())
        }
    }
}

/// Reads in a separate thread. At the end of the input the process ends: the other threads may be in evaluations that take
/// minutes and that no client waits for.
fn read_requests(input: impl BufRead + Send + 'static) -> mpsc::Receiver<Result<StationRequest, FleetError>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in input.lines() {
            let Ok(line) = line else { break };
            if !line.trim().is_empty() && sender.send(message(&line)).is_err() {
                return;
            }
        }
        drop(sender);
        end_process();
    });
    receiver
}

#[cfg(not(test))]
#[expect(clippy::exit, reason = "the process ends in the middle of its work, on purpose")]
fn end_process() {
    std::process::exit(0);
}

/// Tests run stations in threads.
#[cfg(test)]
fn end_process() {}

struct Station {
    referee: Referee,
    stop: AtomicBool,
    /// Evaluations under way.
    busy: AtomicUsize,
    _cores: ClaimedCores,
}

impl Station {
    fn open(open: &OpenStation, start: StartReferee<'_>) -> Result<(Self, StationFacts), String> {
        if open.protocol != FLEET_PROTOCOL {
            return Err(format!(
                "the driver speaks protocol {}, this station {FLEET_PROTOCOL}; install the same passnet everywhere",
                open.protocol
            ));
        }
        let device = open.settings.device;
        if let Some(used) = memory_in_use(device).filter(|&used| used > open.foreign_memory_bytes) {
            return Err(format!("{} MiB of {device} are in use by other processes", used >> 20));
        }
        let cores = ClaimedCores::claim(open.cores, device).map_err(|error| format!("cannot claim cores: {error}"))?;
        let referee = start(open.settings.clone(), open.jobs)?;
        let facts = StationFacts {
            fingerprint: referee.fingerprint().clone(),
            capacity: referee.jobs(),
            cores: cores.cores().to_vec(),
            device: physical_name(device),
        };
        Ok((Self { referee, stop: AtomicBool::new(false), busy: AtomicUsize::new(0), _cores: cores }, facts))
    }

    fn serve(
        &self,
        requests: &mpsc::Receiver<Result<StationRequest, FleetError>>,
        replies: &Replies,
    ) -> Result<(), FleetError> {
        std::thread::scope(|scope| {
            for request in requests {
                let request = request.inspect_err(|_| self.stop.store(true, Ordering::Relaxed))?;
                match request {
                    StationRequest::Evaluate { lease, parcel } => {
                        scope.spawn(move || self.end(lease, self.evaluate(lease, *parcel, replies), replies));
                    }
                    StationRequest::Check { lease, graph } => {
                        scope.spawn(move || self.end(lease, self.check(lease, *graph, replies), replies));
                    }
                    StationRequest::Stop => break,
                    StationRequest::Open(_) => {
                        return Err(FleetError::Parcel("the station is open already".to_owned()));
                    }
                }
            }
            self.stop.store(true, Ordering::Relaxed);
            Ok(())
        })
    }

    /// Reports the end of a lease.
    fn end(&self, lease: u64, result: Result<Option<bool>, FleetError>, replies: &Replies) {
        match result {
            Ok(Some(complete)) => replies.send(&StationReply::Done { lease, complete }),
            Ok(None) => {}
            Err(error) => replies.send(&StationReply::Failed { lease, message: error.to_string() }),
        }
    }

    /// Returns all candidates of one graph, then the next graph: baseline and candidates of a graph are measured in a row.
    fn evaluate(&self, lease: u64, parcel: Parcel, replies: &Replies) -> Result<Option<bool>, FleetError> {
        let candidates: Vec<Candidate> =
            parcel.candidates.into_iter().map(unpack_candidate).collect::<Result<_, _>>()?;
        for graph in parcel.graphs {
            let folder = unpack_graph(graph)?;
            for (author, candidate) in candidates.iter().enumerate() {
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(Some(false));
                }
                if parcel.wanted != Wanted::Verdict {
                    replies.send(&self.look(lease, author, &folder, candidate, parcel.wanted)?);
                    continue;
                }
                let key = self.referee.key_of_folder(&folder, candidate);
                let known = parcel
                    .known
                    .iter()
                    .any(|known| known.author == author && known.graph == folder.id.graph && known.key == key);
                let reply = if known {
                    StationReply::Known { lease, author, id: folder.id.clone() }
                } else {
                    self.verdict(lease, author, &folder, candidate)?
                };
                replies.send(&reply);
            }
        }
        Ok(Some(true))
    }

    fn verdict(
        &self,
        lease: u64,
        author: usize,
        folder: &SampleFolder,
        candidate: &Candidate,
    ) -> Result<StationReply, EvalError> {
        self.busy.fetch_add(1, Ordering::Relaxed);
        let evaluation = self.referee.evaluate_folder(folder, candidate);
        self.busy.fetch_sub(1, Ordering::Relaxed);
        let evaluation = evaluation?;
        let blobs = evaluation.blobs.iter().map(|blob| FileContent::of(blob)).collect();
        Ok(StationReply::Verdict { lease, author, verdict: Box::new(evaluation.verdict), blobs })
    }

    /// Evaluates without timing, or profiles.
    fn look(
        &self,
        lease: u64,
        author: usize,
        folder: &SampleFolder,
        candidate: &Candidate,
        wanted: Wanted,
    ) -> Result<StationReply, FleetError> {
        let sample = folder.sample.as_ref().map_err(|why| FleetError::Parcel(why.clone()))?;
        self.busy.fetch_add(1, Ordering::Relaxed);
        let reply = if wanted == Wanted::Profile {
            self.referee.profile(sample, candidate).map(|profile| StationReply::Profiled { lease, profile })
        } else {
            let verdict = self.referee.check(sample, candidate).map(Box::new);
            verdict.map(|verdict| StationReply::Verdict { lease, author, verdict, blobs: Vec::new() })
        };
        self.busy.fetch_sub(1, Ordering::Relaxed);
        Ok(reply?)
    }

    fn check(&self, lease: u64, graph: GraphParcel, replies: &Replies) -> Result<Option<bool>, FleetError> {
        // Memory that is in use while evaluations run is their own.
        let idle = self.busy.load(Ordering::Relaxed) == 0;
        let memory_bytes = idle.then(|| memory_in_use(self.referee.settings().device)).flatten();
        let folder = unpack_graph(graph)?;
        let verdict = self.referee.evaluate_folder(&folder, &Candidate::Eager)?.verdict;
        replies.send(&StationReply::Checked { lease, verdict: Box::new(verdict), memory_bytes });
        Ok(None)
    }
}
