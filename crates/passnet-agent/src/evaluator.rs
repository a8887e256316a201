//! The referee as an agent meets it: in turns, from a cache where possible, rules before anything else, the processor before
//! another device.

use std::{io, time::Instant};

use passnet_eval::{Candidate, EvalError, GraphSample, PassDirectory, Propagator, Referee, target_of};
use passnet_python::lint::{Finding, lint_dir};
use passnet_record::{Profile, Reason, Status, Verdict};

use crate::{
    cache::{Origin, VerdictCache},
    gate::{Gate, Pass},
    judgement::{Check, Judged, Judgement, Tier, sum_up},
    meaning::Meaning,
    message::shortened,
    task::Task,
};

/// Shared by all attempts of a run.
#[derive(Debug)]
pub struct Evaluator {
    referee: Referee,
    gate: Gate,
    cache: VerdictCache,
    propagator: Propagator,
    meaning: Option<Meaning>,
}

/// Which graphs an evaluation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those that the model may see; verdicts may come from the cache, and of what is wrong from the processor.
    Visible,
    /// The same, but the processor is not asked for the device.
    VisibleOnDevice,
    /// All; verdicts may come from the cache.
    All,
    /// All, measured anew.
    AllAnew,
}

/// A judgement and the words that go with it.
#[derive(Clone, Debug)]
pub struct Explained {
    /// What was found.
    pub judgement: Judgement,
    /// What the model is told.
    pub text: String,
    /// Ids of the integrity rules that were broken.
    pub findings: Vec<String>,
}

/// As [`Explained`], of checks without timing.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What was found.
    pub check: Check,
    /// What the model is told.
    pub text: String,
    /// Ids of the integrity rules that were broken.
    pub findings: Vec<String>,
}

/// Why the device gave no verdict on a graph.
enum NoVerdict {
    /// The processor has refuted the passes; it was not asked.
    Refuted(Box<Verdict>),
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

/// Said where the processor has refuted passes.
const REFUTED: &str = "\nFailed at cpu: wrong on the processor already (kernels in Triton run in its interpreter); the device was not \
     asked. Where the interpreter is at fault, say `skip_cpu: true`.\n";

/// Bytes of one reason that a model is told.
const MAX_REASON: usize = 3000;

impl Evaluator {
    /// One over a referee; evaluations beyond the referee's number at a time wait in a queue.
    pub fn new(referee: Referee, cache: VerdictCache) -> Self {
        let propagator = Propagator::new(referee.interpreter(), target_of(&referee));
        Self { gate: Gate::new(referee.jobs()), referee, cache, propagator, meaning: None }
    }

    /// The same, but where another device measures, passes are first run on the processor, and what is wrong there does not
    /// occupy the device.
    ///
    /// # Errors
    /// Where the referee does not work.
    pub fn with_cpu_tier(mut self) -> Result<Self, EvalError> {
        if self.referee.settings().device != "cpu" {
            self.meaning = Some(Meaning::beside(&self.referee)?);
        }
        Ok(self)
    }

    /// The referee.
    pub fn referee(&self) -> &Referee {
        &self.referee
    }

    /// Infers the types of graphs as they are on the device that is measured.
    pub fn propagator(&self) -> &Propagator {
        &self.propagator
    }

    /// The integrity rules alone: a few milliseconds.
    pub fn lint(passes: &PassDirectory) -> Vec<Finding> {
        let files: Vec<_> = passes.files().iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        lint_dir(&files)
    }

    /// Evaluates a pass directory on a task.
    ///
    /// # Errors
    /// Where the referee does not work; whatever the passes do is a judgement.
    pub fn judge(&self, task: &Task, passes: &PassDirectory, scope: Scope) -> Result<Explained, EvalError> {
        let begin = Instant::now();
        let findings = Self::lint(passes);
        let candidate = Candidate::Passes(passes.clone());
        let mut judged: Vec<Judged> = Vec::new();
        let hidden = matches!(scope, Scope::All | Scope::AllAnew);
        for (graph, held_out) in task.graphs().filter(|(_, held_out)| hidden || !held_out) {
            let evaluate = || {
                if scope == Scope::Visible
                    && let Some(verdict) = self.refuted(graph, &candidate, &findings)?
                {
                    return Err(NoVerdict::Refuted(Box::new(verdict)));
                }
                let _turn = self.turn(&findings);
                Ok(self.referee.evaluate(graph, &candidate)?.verdict)
            };
            let found = match scope {
                Scope::AllAnew => evaluate().map(|verdict| (verdict, Origin::Fresh)),
                _ => self.cache.get(&self.referee.key(graph, &candidate), evaluate),
            };
            judged.push(match found {
                Ok((mut verdict, origin)) => {
                    // An equal graph of another name has the same key.
                    verdict.id = graph.id().clone();
                    Judged::new(verdict, held_out, origin == Origin::Known, &findings)
                }
                Err(NoVerdict::Refuted(verdict)) => Judged::on_cpu(*verdict),
                Err(NoVerdict::Eval(error)) => return Err(error),
            });
        }
        let wall_ns = begin.elapsed().as_nanos() as u64;
        let judgement = sum_up(passes.id().clone(), &judged, self.referee.settings().correct_at, wall_ns);
        let score = format!("score {:.3} (1 is doing nothing)", judgement.score);
        Ok(Explained { text: explain(&judged, &score), judgement, findings: rules(&findings) })
    }

    /// Checks a pass directory on the graphs that the model may see, without timing; `cpu_first` as in [`Scope::Visible`].
    ///
    /// # Errors
    /// Where the referee does not work; whatever the passes do is in the check.
    pub fn check(&self, task: &Task, passes: &PassDirectory, cpu_first: bool) -> Result<Checked, EvalError> {
        let begin = Instant::now();
        let findings = Self::lint(passes);
        let candidate = Candidate::Passes(passes.clone());
        let mut judged = Vec::new();
        for graph in &task.visible {
            let refuted = if cpu_first { self.refuted(graph, &candidate, &findings)? } else { None };
            judged.push(match refuted {
                Some(verdict) => Judged::on_cpu(verdict),
                None => {
                    let _turn = self.turn(&findings);
                    Judged::new(self.referee.check(graph, &candidate)?, false, false, &findings)
                }
            });
        }
        let check = Check::of(passes.id().clone(), &judged, begin.elapsed().as_nanos() as u64);
        let text = explain(&judged, "nothing was timed, so this is no score");
        Ok(Checked { check, text, findings: rules(&findings) })
    }

    /// One call of a graph, as it is or as passes rewrite it, under the profiler; or why there is none.
    ///
    /// # Errors
    /// Where the referee does not work.
    pub fn profile(&self, graph: &GraphSample, candidate: &Candidate) -> Result<Result<Profile, Reason>, EvalError> {
        let _turn = self.gate.enter();
        self.referee.profile(graph, candidate)
    }

    /// Whether the rules let passes run.
    fn may_run(&self, findings: &[Finding]) -> bool {
        findings.is_empty() || !self.referee.defences().lint
    }

    /// A turn on the device. What the rules stop costs nothing and need not wait.
    fn turn(&self, findings: &[Finding]) -> Option<Pass<'_>> {
        self.may_run(findings).then(|| self.gate.enter())
    }

    /// What the processor has against the passes, if it is to be asked.
    fn refuted(
        &self,
        graph: &GraphSample,
        candidate: &Candidate,
        findings: &[Finding],
    ) -> Result<Option<Verdict>, EvalError> {
        match &self.meaning {
            Some(meaning) if self.may_run(findings) => meaning.refutes(graph, candidate, &self.gate),
            _ => Ok(None),
        }
    }
}

/// Ids of the rules that were broken.
fn rules(findings: &[Finding]) -> Vec<String> {
    let mut rules: Vec<String> = findings.iter().map(|finding| finding.rule.to_owned()).collect();
    rules.dedup();
    rules
}

/// What came of it, one line per graph, then the reasons; never a word of graphs that are held out.
fn explain(judged: &[Judged], worth: &str) -> String {
    let shown: Vec<&Judged> = judged.iter().filter(|judged| !judged.held_out).collect();
    let correct = shown.iter().filter(|judged| judged.verdict.status == Status::Correct).count();
    let refuted = shown.iter().any(|judged| judged.tier == Tier::Cpu);
    let mut text = format!("{correct} of {} graphs correct, {worth}\n", shown.len());
    let mut reasons: Vec<(&Reason, Vec<&str>)> = Vec::new();
    for judged in shown {
        let verdict = &judged.verdict;
        let name = verdict.id.graph.as_str();
        text.push_str(&format!("graph {name}: {}", verdict.status.name()));
        if !matches!(verdict.status, Status::Correct | Status::Unstable) {
            text.push_str(&format!(" (failed at {})", judged.tier.name()));
        }
        if let Some(tolerance) = verdict.tolerance {
            text.push_str(&format!(", close from tolerance {tolerance}"));
        }
        if let Some(timing) = verdict.scored_timing() {
            let speedup = &timing.speedup;
            text.push_str(&format!(
                ", eager {:.1} us, passes {:.1} us, speed-up {:.3} (95% interval {:.3} to {:.3})",
                timing.base.median_ns / 1e3,
                timing.candidate.median_ns / 1e3,
                speedup.ratio,
                speedup.low,
                speedup.high
            ));
        }
        text.push('\n');
        if let Some(reason) = &verdict.reason {
            match reasons.iter_mut().find(|(known, _)| known.message == reason.message) {
                Some((_, names)) => names.push(name),
                None => reasons.push((reason, vec![name])),
            }
        }
    }
    for (reason, names) in reasons {
        let message = shortened(&reason.message, MAX_REASON);
        text.push_str(&format!("\n{} ({}): {message}\n", names.join(", "), reason.code));
    }
    if refuted {
        text.push_str(REFUTED);
    }
    text
}
