//! One evaluation: a candidate, a graph, a verdict. `docs/reference/referee.md` describes the steps and their reasons.

use std::{
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use passnet_graph::Graph;
use passnet_inputs::Content;
use passnet_record::{
    ContentId, Cost, Depth, Device, Evidence, ExecutionPath, Fingerprint, GraphId, PassDirectory, Profile, Reason,
    Remark, RunSettings, SCHEMA_VERSION, Status, TracedPattern, Verdict,
};
use passnet_run::{GraphSample, SampleFolder};
use passnet_services::Interpreter;

use crate::{
    candidate::Candidate,
    defences::Defences,
    error::EvalError,
    evaluation::{EvaluationReport, GraphEvaluation, Stop},
    failure::Failure,
    launcher::Launcher,
    machine::{Machine, launcher},
    occupancy::{Occupant, Share},
    options::RefereeOptions,
    sandbox_level,
    seeds::Seeds,
    zygote::Zygote,
    zygote_config::ZygoteError,
};

/// A verdict with the blobs that it refers to.
#[derive(Clone, Debug)]
pub struct Evaluation {
    pub verdict: Verdict,
    /// Contents of blobs (trial times); each is named by its own [`ContentId`].
    pub blobs: Vec<Vec<u8>>,
}

/// Evaluates candidates under fixed settings. Shared by all threads of a run.
#[derive(Debug)]
pub struct Referee {
    machine: Machine,
    fingerprint: Fingerprint,
    adversarial: Vec<Content>,
    /// Hash of settings, machine and defences: the part of content keys that all evaluations share.
    identity: ContentId,
}

/// Returns the part of content keys that all evaluations share.
fn identity(settings: &RunSettings, fingerprint: &Fingerprint, defences: Defences) -> ContentId {
    // Plain data: writing it as JSON does not fail.
    ContentId::of_parts([
        serde_json::to_vec(settings).unwrap_or_default().as_slice(),
        serde_json::to_vec(fingerprint).unwrap_or_default().as_slice(),
        format!("{defences:?}").as_bytes(),
    ])
}

impl Referee {
    /// Starts the fork server and determines the fingerprint of the machine.
    ///
    /// # Errors
    /// If the interpreter does not work, or the settings are invalid.
    pub fn new(settings: RunSettings, options: RefereeOptions) -> Result<Self, EvalError> {
        crate::scratch::sweep();
        let launcher = launcher(&options);
        Self::with_launcher(settings, options, launcher)
    }

    /// Returns a referee with other settings and defences. Both referees share a fork server, unless only one of them confines workers.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn sibling(&self, settings: RunSettings, defences: Defences) -> Result<Self, EvalError> {
        let options = RefereeOptions { defences, ..self.machine.options.clone() };
        let shared = defences.sandbox == self.machine.options.defences.sandbox;
        let launcher = if shared { Arc::clone(&self.machine.launcher) } else { launcher(&options) };
        Self::with_launcher(settings, options, launcher)
    }

    fn with_launcher(
        settings: RunSettings,
        options: RefereeOptions,
        launcher: Arc<Launcher>,
    ) -> Result<Self, EvalError> {
        let adversarial = settings.adversarial.iter().map(|name| name.parse()).collect::<Result<_, _>>()?;
        let zygote = launcher.zygote()?;
        let mut fingerprint = crate::fingerprint::fingerprint(settings.device, &zygote.info().versions);
        if options.defences.sandbox {
            fingerprint.sandbox = sandbox_level::level(&zygote)?;
        }
        let identity = identity(&settings, &fingerprint, options.defences);
        Ok(Self { machine: Machine::new(settings, options, launcher)?, fingerprint, adversarial, identity })
    }

    /// Returns a referee that may only evaluate passes of the built-in author. These passes are trusted not to change each other's
    /// kernels, so each kernel is compiled once and not in every evaluation. Checks and measurements are the same, but workers that share
    /// a directory have no process namespace.
    #[must_use]
    pub fn sharing_kernels(mut self) -> Self {
        self.machine.shares_kernels = self.machine.options.cache.is_some();
        if self.machine.shares_kernels {
            // Such workers have no process namespace, so their verdicts must not be reused for workers that have one.
            self.identity = ContentId::of_parts([self.identity.as_str().as_bytes(), b"shares kernels"]);
        }
        self
    }

    /// Returns a referee with the fingerprint and content keys of another machine, for verdicts that the other machine reaches with the
    /// same settings.
    #[must_use]
    pub fn keyed_as(mut self, fingerprint: Fingerprint) -> Self {
        self.identity = identity(self.settings(), &fingerprint, self.defences());
        self.fingerprint = fingerprint;
        self
    }

    /// Returns the shared resources.
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns the fingerprint of the machine, as the header of a run records it.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// Returns the interpreter that workers run in.
    pub fn interpreter(&self) -> Interpreter {
        Interpreter {
            python: self.machine.options.zygote.python.clone(),
            site: self.machine.options.zygote.site.clone(),
        }
    }

    /// Returns the directory for compiled kernels and other files that evaluations share.
    pub fn cache(&self) -> Option<&Path> {
        self.machine.options.cache.as_deref()
    }

    /// Returns the settings of every evaluation.
    pub fn settings(&self) -> &RunSettings {
        &self.machine.settings
    }

    /// Returns the layers that are on.
    pub fn defences(&self) -> Defences {
        self.machine.options.defences
    }

    /// Returns the number of evaluations that run at the same time.
    pub fn jobs(&self) -> usize {
        self.machine.options.jobs
    }

    /// Ends all running evaluations at once and without a verdict, by killing their processes. No evaluation begins until
    /// [`Self::resume`]. Each further call kills processes that were started since.
    pub fn halt(&self) {
        self.machine.launcher.halt();
    }

    /// Allows evaluations again.
    pub fn resume(&self) {
        self.machine.launcher.resume();
    }

    /// Returns the content key of an evaluation. Equal keys mean equal verdicts, except for the noise of measurements.
    pub fn key(&self, sample: &GraphSample, candidate: &Candidate) -> ContentId {
        let parts = [candidate.identity(), sample.content().to_string(), self.identity.to_string()];
        ContentId::of_parts(parts.iter().map(String::as_bytes))
    }

    /// Evaluates one candidate on one graph.
    ///
    /// # Errors
    /// If the machine or the installation has a fault, so that no verdict can be reached.
    pub fn evaluate(&self, sample: &GraphSample, candidate: &Candidate) -> Result<Evaluation, EvalError> {
        self.judge(sample, candidate, Depth::Timing)
    }

    /// Evaluates without timing: checks the rules, the match and the results, and watches replacement functions. It does not wait for the
    /// right to measure. `correct` means only that the results are right. The verdict has no timings, and its key differs from that of
    /// [`Self::evaluate`].
    ///
    /// # Errors
    /// As for [`Self::evaluate`].
    pub fn check(&self, sample: &GraphSample, candidate: &Candidate) -> Result<Verdict, EvalError> {
        let mut verdict = self.judge(sample, candidate, Depth::Check)?.verdict;
        verdict.key = ContentId::of_parts([verdict.key.as_str().as_bytes(), b"without timing"]);
        Ok(verdict)
    }

    /// Profiles one call of a candidate on a graph with PyTorch's profiler, in a worker like those of an evaluation. The inner
    /// error is the reason why there is no profile. The worker reports the profile itself, so no verdict uses it.
    ///
    /// # Errors
    /// As for [`Self::evaluate`].
    pub fn profile(&self, sample: &GraphSample, candidate: &Candidate) -> Result<Result<Profile, Reason>, EvalError> {
        let _here = self.enter(Share::Shared)?;
        let zygote = self.machine.launcher.zygote()?;
        self.set_up_compiler(&zygote, candidate);
        let deadline = self.deadline();
        let seeds = self.seeds()?;
        let mut evaluation =
            GraphEvaluation::new(&self.machine, sample, candidate, Depth::Check, seeds, zygote, deadline)?;
        Ok(match evaluation.profile() {
            Ok(profile) => Ok(profile),
            Err(stop) => Err(stop.into_failure()?.reason),
        })
    }

    /// Does other work on the device while no measurement runs.
    ///
    /// # Errors
    /// If the device cannot be locked, or the referee is halted meanwhile.
    pub fn with_device<T>(&self, work: impl FnOnce() -> T) -> Result<T, EvalError> {
        let acquired = self.machine.lock.acquire(|| self.machine.launcher.is_halted())?;
        let (_measuring, _waited) = acquired.ok_or(ZygoteError::Halted)?;
        Ok(work())
    }

    /// Returns the patterns of the passes of a directory, or why there are none. The directory is checked by the rules
    /// and imported in a worker like those of an evaluation.
    ///
    /// # Errors
    /// As for [`Self::evaluate`].
    pub fn patterns(&self, passes: PassDirectory) -> Result<Result<Vec<TracedPattern>, Reason>, EvalError> {
        let zygote = self.machine.launcher.zygote()?;
        let deadline = Instant::now() + Duration::from_secs_f64(self.machine.settings.timeout_s.max(0.0));
        let candidate = Candidate::Passes(passes);
        let id = GraphId { task: "patterns".to_owned(), graph: "none".to_owned() };
        let sample = GraphSample::new(id, Graph::default(), Vec::new());
        let mut evaluation =
            GraphEvaluation::new(&self.machine, &sample, &candidate, Depth::Match, self.seeds()?, zygote, deadline)?;
        Ok(match evaluation.patterns() {
            Ok(patterns) => Ok(patterns),
            Err(stop) => Err(stop.into_failure()?.reason),
        })
    }

    /// Returns whether other evaluations may hold memory of the device. The memory of the host is limited for each worker instead.
    fn shares_memory(&self) -> bool {
        self.settings().device != Device::Cpu && self.jobs() > 1
    }

    /// Waits until an evaluation may begin.
    fn enter(&self, share: Share) -> Result<Occupant<'_>, EvalError> {
        let Machine { occupancy, launcher, .. } = &self.machine;
        occupancy.enter(share, || launcher.is_halted()).ok_or_else(|| ZygoteError::Halted.into())
    }

    fn deadline(&self) -> Instant {
        Instant::now() + Duration::from_secs_f64(self.machine.settings.timeout_s.max(0.0))
    }

    /// Lets the fork server import the compilers that workers need for the candidate.
    fn set_up_compiler(&self, zygote: &Zygote, candidate: &Candidate) {
        let is_compiler = matches!(candidate, Candidate::Inductor { .. } | Candidate::Compiler { .. });
        let cache = self.machine.options.cache.as_deref().filter(|_| is_compiler);
        if is_compiler || self.settings().paths.contains(&ExecutionPath::Compiled) {
            zygote.set_up_compiler(cache);
        }
    }

    fn seeds(&self) -> io::Result<Seeds> {
        Seeds::draw(self.settings(), self.machine.options.defences.contents)
    }

    fn judge(&self, sample: &GraphSample, candidate: &Candidate, depth: Depth) -> Result<Evaluation, EvalError> {
        let begin = Instant::now();
        let mut adversarial =
            if self.machine.options.defences.contents { self.adversarial.clone() } else { Vec::new() };
        let (mut remarks, mut deaths, seeds) = (Vec::new(), 0, self.seeds()?);
        let mut share = Share::Shared;
        loop {
            let _here = self.enter(share)?;
            let zygote = self.machine.launcher.zygote()?;
            self.set_up_compiler(&zygote, candidate);
            let deadline = self.deadline();
            let mut evaluation =
                GraphEvaluation::new(&self.machine, sample, candidate, depth, seeds, zygote.clone(), deadline)?;
            let outcome = evaluation.run(&adversarial);
            let mut report = evaluation.finish();
            if self.machine.launcher.is_halted() {
                // Its workers were killed, so its result says nothing about the candidate.
                return Err(ZygoteError::Halted.into());
            }
            let failure = match outcome {
                Ok(failure) => failure,
                // All workers die with their fork server. The cause may be another evaluation, so this one is tried again.
                Err(_) if !zygote.is_alive() && deaths == 0 => {
                    deaths += 1;
                    continue;
                }
                Err(_) if !zygote.is_alive() => {
                    let message = "the fork server died twice while this candidate was running";
                    Some(Failure::new(Status::RuntimeError, "fork_server_died", message))
                }
                // The graph itself crashed its worker on this content, so the evaluation starts again without the content.
                Err(Stop::Skip(content)) if adversarial.contains(&content) => {
                    adversarial.retain(|&other| other != content);
                    remarks.push(Remark::ContentSkipped { content: content.name().to_owned() });
                    continue;
                }
                Err(stop) => Some(stop.into_failure()?),
            };
            if share == Share::Shared && self.shares_memory() && failure.as_ref().is_some_and(Failure::is_shortage) {
                share = Share::Sole;
                remarks.push(Remark::RepeatedAlone);
                continue;
            }
            report.evidence.notes.extend(remarks);
            // The seed is recorded only at the end: until then it is a secret of this process.
            report.evidence.seed = Some(seeds.root());
            report.cost.wall_ns = begin.elapsed().as_nanos() as u64;
            return Ok(self.evaluation(sample, candidate, report, failure));
        }
    }

    fn evaluation(
        &self,
        sample: &GraphSample,
        candidate: &Candidate,
        report: EvaluationReport,
        failure: Option<Failure>,
    ) -> Evaluation {
        let (status, reason) = match failure {
            Some(failure) => (failure.status, Some(failure.reason)),
            None => (Status::Correct, None),
        };
        let verdict = Verdict {
            schema_version: SCHEMA_VERSION,
            id: sample.id().clone(),
            key: self.key(sample, candidate),
            status,
            reason,
            tolerance: report.tolerance,
            outputs: report.outputs,
            timings: report.timings,
            evidence: report.evidence,
            cost: report.cost,
        };
        Evaluation { verdict, blobs: report.blobs }
    }

    /// Returns the content key for a sample folder, readable or not.
    pub fn key_of_folder(&self, folder: &SampleFolder, candidate: &Candidate) -> ContentId {
        match &folder.sample {
            Ok(sample) => self.key(sample, candidate),
            Err(message) => {
                let parts = [candidate.identity(), message.clone(), self.identity.to_string()];
                ContentId::of_parts(parts.iter().map(String::as_bytes))
            }
        }
    }

    /// Evaluates one candidate on a sample folder. A folder that cannot be read is a `reference_error`.
    ///
    /// # Errors
    /// As for [`Self::evaluate`].
    pub fn evaluate_folder(&self, folder: &SampleFolder, candidate: &Candidate) -> Result<Evaluation, EvalError> {
        match &folder.sample {
            Ok(sample) => self.evaluate(sample, candidate),
            Err(message) => {
                let verdict = self.unreadable(folder, candidate, message);
                Ok(Evaluation { verdict, blobs: Vec::new() })
            }
        }
    }

    fn unreadable(&self, folder: &SampleFolder, candidate: &Candidate, message: &str) -> Verdict {
        Verdict {
            schema_version: SCHEMA_VERSION,
            id: folder.id.clone(),
            key: self.key_of_folder(folder, candidate),
            status: Status::ReferenceError,
            reason: Some(Failure::new(Status::ReferenceError, "bad_sample", message).reason),
            tolerance: None,
            outputs: Vec::new(),
            timings: Vec::new(),
            evidence: Evidence::default(),
            cost: Cost::default(),
        }
    }
}
