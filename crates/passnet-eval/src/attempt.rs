//! The steps of one evaluation, from forking workers to the last measurement.

mod census;
mod check;
mod measure;
mod profile;
mod stop;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use check::MAX_OUTPUT;
use passnet_record::{
    CandidateSpec, Cost, Evidence, LoadReport, OutputComparison, Status, Timing, Watch, WorkerReply, WorkerRequest,
};
pub(crate) use stop::Stop;
use stop::{OrStop as _, block_stop};

use crate::{
    block::InputBlock,
    candidate::{Candidate, Route},
    failure::{Failure, no_match},
    inputs::Content,
    integrity,
    judge::Tally,
    referee::{EvalError, Referee},
    sample::GraphSample,
    scratch::Scratch,
    worker::{Fault, Worker, WorkerOptions, unexpected},
    zygote::Zygote,
};

/// What an attempt found out, complete or not.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) tolerance: Option<i32>,
    pub(crate) outputs: Vec<OutputComparison>,
    pub(crate) timings: Vec<Timing>,
    pub(crate) evidence: Evidence,
    pub(crate) cost: Cost,
    pub(crate) blobs: Vec<Vec<u8>>,
}

/// How far an evaluation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Whether the results are right, and whose work they are.
    Checks,
    /// That, and how fast they are had.
    Timing,
}

/// One attempt to evaluate one candidate on one graph.
pub(crate) struct Attempt<'a> {
    referee: &'a Referee,
    sample: &'a GraphSample,
    candidate: &'a Candidate,
    extent: Extent,
    zygote: Arc<Zygote>,
    scratch: Scratch,
    deadline: Instant,
    report: Report,
    /// The graph draws random numbers, or changes its inputs: both are reset before each call.
    restore: bool,
    /// `restore` is known.
    learned: bool,
    /// Bytes that any candidate has to write; known when `learned`.
    output_bytes: u64,
}

impl<'a> Attempt<'a> {
    pub(crate) fn new(
        referee: &'a Referee,
        sample: &'a GraphSample,
        candidate: &'a Candidate,
        extent: Extent,
        zygote: Arc<Zygote>,
        deadline: Instant,
    ) -> Result<Self, EvalError> {
        let scratch = Scratch::new()?;
        let report = Report::default();
        Ok(Self {
            referee,
            sample,
            candidate,
            extent,
            zygote,
            scratch,
            deadline,
            report,
            restore: false,
            learned: false,
            output_bytes: 0,
        })
    }

    pub(crate) fn finish(self) -> Report {
        self.report
    }

    /// What needs no worker: looks at the pass directory by the rules, writes it down where workers read it, and gives the paths
    /// to run.
    fn prepare(&self) -> Result<Vec<Route>, Stop> {
        if let Candidate::Refused(why) = self.candidate {
            return Err(Failure::new(Status::Integrity, "bad_pass_directory", why).into());
        }
        let passes = self.scratch.path().join("passes");
        if let Candidate::Passes(directory) = self.candidate {
            if directory.files().is_empty() {
                return Err(no_match(&[]).into());
            }
            if self.referee.options.defences.lint
                && let Some(failure) = integrity::violation(directory)
            {
                return Err(failure.into());
            }
            directory.write_to(&passes).map_err(|error| Stop::Fault(error.into()))?;
        }
        Ok(self.candidate.routes(&self.referee.settings.paths, &passes.to_string_lossy()))
    }

    /// Runs all steps. A failure that is given back, not raised, left measurements behind.
    pub(crate) fn run(&mut self, adversarial: &[Content]) -> Result<Option<Failure>, Stop> {
        let routes = self.prepare()?;
        let (scored, others) = routes.split_first().ok_or_else(|| {
            Failure::new(Status::RuntimeError, "no_path", "the settings ask for no path that this author has")
        })?;
        let mut reference = self.fork("reference", false).reference("starting")?;
        let failure = self.route(scored, &mut reference, adversarial, true)?;
        let others = if self.extent == Extent::Timing { others } else { &[] };
        for route in others {
            if failure.as_ref().is_some_and(|failure| failure.status != Status::Unstable) {
                break;
            }
            // What is not scored cannot spoil what is.
            match self.route(route, &mut reference, &[], false) {
                Ok(None) => {}
                Ok(Some(failure)) | Err(Stop::Failure(failure)) => {
                    let path = serde_json::to_value(route.path).unwrap_or_default();
                    let note = format!("path_failed:{}:{}", path.as_str().unwrap_or(""), failure.reason.code);
                    self.report.evidence.notes.push(note);
                    break;
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(failure)
    }

    fn fork(&self, role: &str, foreign: bool) -> Result<Worker, Fault> {
        let settings = &self.referee.settings;
        let options = WorkerOptions {
            scratch: self.scratch.path().join(role),
            memory_bytes: settings.memory_bytes,
            // No single thread may take more than the wall clock allows, compilers beside the workers included.
            cpu_s: settings.timeout_s.max(1.0).ceil() as u64 * (u64::from(settings.threads) + 1),
            // All workers alike: the baseline is to pay for the confinement what the candidate pays.
            sandbox: self.referee.options.defences.sandbox,
            readable: match foreign {
                true => vec![self.scratch.path().join("passes").to_string_lossy().into_owned()],
                false => Vec::new(),
            },
            cache: match &self.referee.options.cache {
                Some(cache) if !foreign || self.referee.shares_kernels => cache.to_string_lossy().into_owned(),
                _ => String::new(),
            },
        };
        let worker = Worker::fork(&self.zygote, &options)?;
        if let Some(cores) = &self.referee.cores.other {
            worker.pin(cores);
        }
        Ok(worker)
    }

    /// Loads, checks and measures one path.
    fn route(
        &mut self,
        route: &Route,
        reference: &mut Worker,
        adversarial: &[Content],
        scored: bool,
    ) -> Result<Option<Failure>, Stop> {
        let name = |role: &str| format!("{role}-{:?}", route.path).to_lowercase();
        let begin = Instant::now();
        let mut candidate = self.fork(&name("candidate"), self.candidate.is_foreign()).candidate("starting")?;
        let control_spec = route.control.as_ref().filter(|_| self.extent == Extent::Timing);
        let mut control = match control_spec {
            Some(_) => Some(self.fork(&name("control"), false).reference("starting")?),
            None => None,
        };
        if scored {
            self.send_load(reference, &CandidateSpec::Eager).reference("loading the graph")?;
        }
        self.send_load(&mut candidate, &route.spec).candidate("loading")?;
        if let (Some(control), Some(spec)) = (&mut control, control_spec) {
            self.send_load(control, spec).reference("loading the graph")?;
        }
        // Inputs are made while the workers load.
        let rounds = self.rounds(adversarial);
        let mut batches = self.batches(&rounds)?;
        let first = batches.next().transpose().map_err(block_stop)?;

        if scored {
            reference.ready(self.deadline).reference("starting")?;
        }
        candidate.ready(self.deadline).candidate("starting")?;
        if let Some(control) = &mut control {
            control.ready(self.deadline).reference("starting")?;
        }
        self.report.cost.start_ns += elapsed(begin);
        let begin = Instant::now();
        if scored {
            let loaded = self.receive_load(reference).reference("loading the graph")?;
            self.report.evidence.nodes_before = loaded.nodes_before;
        }
        let loaded = self.receive_load(&mut candidate).candidate("loading")?;
        if let Some(control) = &mut control {
            self.receive_load(control).reference("loading the graph")?;
        }
        if scored {
            self.take_evidence(&loaded, &candidate);
        }
        if self.candidate.is_foreign()
            && self.referee.options.defences.diff
            && let Some(failure) = integrity::computed_arguments(&loaded.notes)
        {
            return Err(failure.into());
        }
        if self.candidate.is_foreign() && loaded.passes.iter().all(|pass| pass.matches == 0) {
            return Err(no_match(&loaded.passes).into());
        }
        self.report.cost.load_ns += elapsed(begin);

        let begin = Instant::now();
        let mut tally = Tally::default();
        let checked = first.into_iter().map(Ok).chain(batches).try_for_each(|batch| {
            let (rounds, block) = batch.map_err(block_stop)?;
            self.check(reference, &mut candidate, rounds, &block, &mut tally)
        });
        if scored {
            // No tolerance forgives what adversarial inputs bring to light.
            self.report.tolerance = if checked.is_ok() { tally.tolerance() } else { None };
            self.report.outputs = tally.report();
        }
        self.report.cost.check_ns += elapsed(begin);
        checked?;
        let settings = &self.referee.settings;
        let failure = tally.failure(settings.correct_at);
        let Some(tolerance) = tally.tolerance() else { return Ok(failure) };
        let unstable = match self.extent {
            Extent::Checks => None,
            Extent::Timing => {
                if let Some(control) = &mut control {
                    self.first_call(control).reference("running the control")?;
                }
                let begin = Instant::now();
                let at = tolerance.max(settings.correct_at) + 1;
                let unstable = self.measure(route, reference, control.as_mut(), &mut candidate, at)?;
                self.report.cost.time_ns += elapsed(begin);
                unstable
            }
        };
        if scored && self.candidate.is_foreign() && self.referee.options.defences.census {
            self.take_census(&mut candidate)?;
        }
        Ok(failure.or(if scored { unstable } else { None }))
    }

    fn send_load(&self, worker: &mut Worker, candidate: &CandidateSpec) -> Result<(), Fault> {
        let settings = &self.referee.settings;
        let request = WorkerRequest::Load {
            graph: self.sample.wire(&settings.device),
            device: settings.device.clone(),
            threads: settings.threads,
            candidate: candidate.clone(),
        };
        worker.send(&request, None, self.deadline)
    }

    fn receive_load(&self, worker: &mut Worker) -> Result<LoadReport, Fault> {
        match worker.receive(self.deadline)? {
            (WorkerReply::Loaded(report), _) => Ok(report),
            (other, _) => Err(unexpected("loaded", &other)),
        }
    }

    fn take_evidence(&mut self, loaded: &LoadReport, candidate: &Worker) {
        let evidence = &mut self.report.evidence;
        evidence.nodes_after = loaded.nodes_after;
        evidence.matches = loaded.passes.iter().map(|pass| (pass.name.clone(), pass.matches)).collect();
        evidence.rewritten = loaded.rewritten.clone();
        evidence.notes.extend(loaded.notes.iter().cloned());
        evidence.sandbox = candidate.sandbox.clone();
    }

    /// Lets a control compile what it compiles lazily.
    fn first_call(&self, control: &mut Worker) -> Result<(), Fault> {
        let block = InputBlock::new(self.sample.metas(), &[(0, Content::Random)], 0)
            .map_err(|error| Fault::Io(std::io::Error::other(error.to_string())))?;
        self.call_once(control, &block, 0)?;
        control.drop_inputs(self.deadline)
    }

    /// Has a worker take the first set of a block and call once; what it returns is not looked at.
    fn call_once(&self, worker: &mut Worker, block: &InputBlock, seed: u64) -> Result<(), Fault> {
        self.send_inputs(worker, block, 0..1)?;
        self.send_call(worker, 0, seed, Watch::default())?;
        worker.receive_done(self.deadline)?;
        worker.receive_outputs(MAX_OUTPUT, self.deadline).map(drop)
    }
}

fn elapsed(begin: Instant) -> u64 {
    let elapsed: Duration = begin.elapsed();
    elapsed.as_nanos() as u64
}
