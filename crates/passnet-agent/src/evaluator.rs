//! The evaluator of an agent: adds a queue and a cache to the referee, and checks lint rules and the CPU before another device.

mod explain;

use std::{io, sync::Arc, time::Instant};

use passnet_author::target_of;
use passnet_eval::{Candidate, EvalError, Referee};
use passnet_lint::{Finding, lint_dir};
use passnet_record::{
    ContentId, PassDirectory, Profile, Reason, Verdict,
    agent::{TaskCheck, TaskEvaluation},
    fleet::FleetClient,
};
use passnet_run::GraphSample;
use passnet_services::Propagator;

use self::explain::explain;
use crate::{
    cache::{Lookup, VerdictCache},
    cpu_precheck::CpuPrecheck,
    devices::Devices,
    evaluation::{TaskVerdict, summarise_check, summarise_evaluation},
    semaphore::{Permit, Semaphore},
    task::Task,
};

/// Evaluates pass directories for all attempts of a run. Clones share everything except their client.
#[derive(Clone, Debug)]
pub struct Evaluator {
    referee: Arc<Referee>,
    semaphore: Arc<Semaphore>,
    cache: Arc<VerdictCache>,
    propagator: Arc<Propagator>,
    precheck: Option<Arc<CpuPrecheck>>,
    fleet: Option<Fleet>,
    profile_tools: bool,
}

/// Devices elsewhere that evaluate in place of the referee.
#[derive(Clone, Debug)]
struct Fleet {
    devices: Arc<dyn Devices>,
    client: FleetClient,
}

/// Graphs that an evaluation covers, and the sources that may give their verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvaluationScope {
    /// Visible graphs; verdicts may come from the cache, rejections from the CPU pre-check.
    Visible,
    /// Visible graphs without the CPU pre-check.
    VisibleSkipCpu,
    /// All graphs; verdicts may come from the cache.
    All,
    /// All graphs, measured again.
    AllRemeasured,
    /// All graphs, measured a second time. Evaluations of equal passes share the second measurement, so nothing may be selected by it.
    AllSecond,
}

/// An evaluation or a check, and the text that describes it to the model.
#[derive(Clone, Debug)]
pub struct Explained<T> {
    /// A [`TaskEvaluation`] or a [`TaskCheck`].
    pub outcome: T,
    /// Text for the model.
    pub text: String,
    /// Ids of the integrity rules that the passes broke.
    pub findings: Vec<String>,
}

/// Reason why the device gave no verdict on a graph.
enum NoVerdict {
    /// The CPU pre-check rejected the passes.
    Rejected(Box<Verdict>),
    Eval(EvalError),
}

impl From<EvalError> for NoVerdict {
    fn from(error: EvalError) -> Self {
        Self::Eval(error)
    }
}

impl From<io::Error> for NoVerdict {
    fn from(error: io::Error) -> Self {
        Self::Eval(error.into())
    }
}

impl Evaluator {
    /// Creates an evaluator over a referee. Evaluations beyond the referee's number of jobs wait in a queue.
    pub fn new(referee: Referee, cache: VerdictCache) -> Self {
        let propagator = Propagator::new(referee.interpreter(), target_of(referee.settings().device));
        Self {
            semaphore: Arc::new(Semaphore::new(referee.jobs())),
            referee: Arc::new(referee),
            cache: Arc::new(cache),
            propagator: Arc::new(propagator),
            precheck: None,
            fleet: None,
            profile_tools: false,
        }
    }

    /// Makes these devices evaluate for a client. Settings, keys and the verdicts of the integrity rules still come from the referee,
    /// so its fingerprint has to be that of the devices ([`Referee::keyed_as`]).
    #[must_use]
    pub fn on_devices(mut self, devices: Arc<dyn Devices>, client: FleetClient) -> Self {
        self.fleet = Some(Fleet { devices, client });
        self
    }

    /// Returns the same evaluator for another client of its devices.
    #[must_use]
    pub(crate) fn for_client(&self, client: &FleetClient) -> Self {
        let fleet = self.fleet.as_ref().map(|fleet| Fleet { client: client.clone(), ..fleet.clone() });
        Self { fleet, ..self.clone() }
    }

    /// Returns the devices elsewhere, if there are any.
    pub(crate) fn devices(&self) -> Option<&dyn Devices> {
        self.fleet.as_ref().map(|fleet| fleet.devices.as_ref())
    }

    /// Adds the CPU pre-check if another device is measured: passes that are wrong on the CPU do not use the device.
    ///
    /// # Errors
    /// Fails if the referee on the CPU does not start.
    pub fn with_cpu_precheck(mut self) -> Result<Self, EvalError> {
        if !self.referee.settings().device.is_cpu() {
            self.precheck = Some(Arc::new(CpuPrecheck::new(&self.referee)?));
        }
        Ok(self)
    }

    /// Lets the tool `profile` run `ncu` and `compute-sanitizer`, which run passes outside of the sandbox.
    #[must_use]
    pub fn with_profile_tools(mut self, is_wanted: bool) -> Self {
        self.profile_tools = is_wanted;
        self
    }

    /// Returns whether `profile` runs `ncu` and `compute-sanitizer`.
    pub(crate) fn has_profile_tools(&self) -> bool {
        self.profile_tools
    }

    /// Returns the referee.
    pub fn referee(&self) -> &Referee {
        &self.referee
    }

    /// Returns the type inference for the measured device.
    pub fn propagator(&self) -> &Propagator {
        &self.propagator
    }

    /// Applies the integrity rules alone: a few milliseconds.
    pub fn lint(passes: &PassDirectory) -> Vec<Finding> {
        let files: Vec<_> = passes.files().iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        lint_dir(&files)
    }

    /// Evaluates a pass directory on a task.
    ///
    /// # Errors
    /// Fails if the referee does not work; a failure of the passes is part of the evaluation.
    pub fn evaluate(
        &self,
        task: &Task,
        passes: &PassDirectory,
        scope: EvaluationScope,
    ) -> Result<Explained<TaskEvaluation>, EvalError> {
        let begin = Instant::now();
        let findings = Self::lint(passes);
        let candidate = Candidate::Passes(passes.clone());
        let mut verdicts: Vec<TaskVerdict> = Vec::new();
        let with_held_out = !matches!(scope, EvaluationScope::Visible | EvaluationScope::VisibleSkipCpu);
        for (graph, held_out) in task.graphs().filter(|(_, held_out)| with_held_out || !held_out) {
            let evaluate = || {
                if scope == EvaluationScope::Visible
                    && let Some(verdict) = self.rejection(graph, &candidate, &findings)?
                {
                    // Returned as an error, so that the cache does not keep it: the CPU rejected the passes, but the
                    // key is that of the device.
                    return Err(NoVerdict::Rejected(Box::new(verdict)));
                }
                Ok(self.judge(graph, &candidate, &findings, true)?)
            };
            let found = match scope {
                // The best of many measurements is biased upwards. The result that counts is measured once more.
                EvaluationScope::AllRemeasured => evaluate().map(|verdict| (verdict, Lookup::Miss)),
                EvaluationScope::AllSecond => {
                    let key = second_key(&self.referee.key(graph, &candidate));
                    self.cache.get(&key, || evaluate().map(|verdict| Verdict { key: key.clone(), ..verdict }))
                }
                _ => self.cache.get(&self.referee.key(graph, &candidate), evaluate),
            };
            verdicts.push(match found {
                Ok((mut verdict, lookup)) => {
                    // An equal graph with another name has the same key.
                    verdict.id = graph.id().clone();
                    TaskVerdict::new(verdict, held_out, lookup == Lookup::Hit, &findings)
                }
                Err(NoVerdict::Rejected(verdict)) => TaskVerdict::rejected(*verdict),
                Err(NoVerdict::Eval(error)) => return Err(error),
            });
        }
        let wall_ns = begin.elapsed().as_nanos() as u64;
        let correct_at = self.referee.settings().correct_at;
        let evaluation = summarise_evaluation(passes.id().clone(), &verdicts, correct_at, wall_ns);
        let score = format!("score {:.3} (an empty pass directory has 1)", evaluation.score);
        Ok(Explained { text: explain(&verdicts, &score), outcome: evaluation, findings: broken_rules(&findings) })
    }

    /// Checks a pass directory on the visible graphs without timing; `cpu_first` allows the CPU pre-check.
    ///
    /// # Errors
    /// Fails if the referee does not work; a failure of the passes is part of the check.
    pub fn check(
        &self,
        task: &Task,
        passes: &PassDirectory,
        cpu_first: bool,
    ) -> Result<Explained<TaskCheck>, EvalError> {
        let begin = Instant::now();
        let findings = Self::lint(passes);
        let candidate = Candidate::Passes(passes.clone());
        let mut verdicts = Vec::new();
        for graph in &task.visible {
            let rejection = if cpu_first { self.rejection(graph, &candidate, &findings)? } else { None };
            verdicts.push(match rejection {
                Some(verdict) => TaskVerdict::rejected(verdict),
                None => {
                    let verdict = self.judge(graph, &candidate, &findings, false)?;
                    TaskVerdict::new(verdict, false, false, &findings)
                }
            });
        }
        let check = summarise_check(passes.id().clone(), &verdicts, begin.elapsed().as_nanos() as u64);
        let text = explain(&verdicts, "nothing was timed, so there is no score");
        Ok(Explained { outcome: check, text, findings: broken_rules(&findings) })
    }

    /// Profiles calls of a graph, unchanged or rewritten. The inner error is the reason why there is no profile.
    ///
    /// # Errors
    /// Fails if the referee does not work.
    pub fn profile(&self, graph: &GraphSample, candidate: &Candidate) -> Result<Result<Profile, Reason>, EvalError> {
        if let Some(Fleet { devices, client }) = &self.fleet {
            return devices.profile(client, graph, candidate);
        }
        let _permit = self.semaphore.acquire();
        self.referee.profile(graph, candidate)
    }

    /// Reaches a verdict, with or without timing.
    fn judge(
        &self,
        graph: &GraphSample,
        candidate: &Candidate,
        findings: &[Finding],
        timed: bool,
    ) -> Result<Verdict, EvalError> {
        // For passes that the rules stop, the referee of this machine answers, because this needs no device.
        if let Some(Fleet { devices, client }) = self.fleet.as_ref().filter(|_| self.may_run(findings)) {
            return devices.evaluate(client, graph, candidate, timed);
        }
        let _permit = self.permit(findings);
        if timed { Ok(self.referee.evaluate(graph, candidate)?.verdict) } else { self.referee.check(graph, candidate) }
    }

    /// Returns whether the integrity rules let passes run.
    fn may_run(&self, findings: &[Finding]) -> bool {
        findings.is_empty() || !self.referee.defences().lint
    }

    /// Waits for the device of the referee.
    pub(crate) fn device(&self) -> Permit<'_> {
        self.semaphore.acquire()
    }

    /// Waits for the device. Passes that the rules stop need no device and do not wait.
    fn permit(&self, findings: &[Finding]) -> Option<Permit<'_>> {
        self.may_run(findings).then(|| self.semaphore.acquire())
    }

    /// Returns the rejection by the CPU pre-check, if there is one.
    fn rejection(
        &self,
        graph: &GraphSample,
        candidate: &Candidate,
        findings: &[Finding],
    ) -> Result<Option<Verdict>, EvalError> {
        match &self.precheck {
            Some(precheck) if self.may_run(findings) => precheck.reject(graph, candidate, &self.semaphore),
            _ => Ok(None),
        }
    }
}

/// Returns the key of a second measurement. The first one keeps its own, so that each lesson that selects by it sees the same.
fn second_key(first: &ContentId) -> ContentId {
    ContentId::of_parts([first.as_str().as_bytes(), b"second measurement"])
}

/// Returns the ids of the broken rules.
pub(crate) fn broken_rules(findings: &[Finding]) -> Vec<String> {
    let mut rules: Vec<String> = findings.iter().map(|finding| finding.rule.to_owned()).collect();
    rules.dedup();
    rules
}
