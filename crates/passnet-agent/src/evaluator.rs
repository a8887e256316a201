//! The referee as an agent meets it: in turns, from a cache where possible, rules before anything else.

use std::time::Instant;

use passnet_eval::{Candidate, EvalError, PassDirectory, Propagator, Referee, target_of};
use passnet_python::lint::{Finding, lint_dir};
use passnet_record::{Reason, Status};

use crate::{
    cache::{Origin, VerdictCache},
    gate::Gate,
    judgement::{Judged, Judgement, sum_up},
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
}

/// Which graphs an evaluation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those that the model may see; verdicts may come from the cache.
    Visible,
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

/// Bytes of one reason that a model is told.
const MAX_REASON: usize = 3000;

impl Evaluator {
    /// One over a referee; evaluations beyond the referee's number at a time wait in a queue.
    pub fn new(referee: Referee, cache: VerdictCache) -> Self {
        let propagator = Propagator::new(referee.interpreter(), target_of(&referee));
        Self { gate: Gate::new(referee.jobs()), referee, cache, propagator }
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
        for (graph, held_out) in task.graphs().filter(|(_, held_out)| scope != Scope::Visible || !held_out) {
            let evaluate = || {
                // What the rules stop costs nothing and need not wait.
                let _turn = findings.is_empty().then(|| self.gate.enter());
                self.referee.evaluate(graph, &candidate).map(|evaluation| evaluation.verdict)
            };
            let (mut verdict, origin) = match scope {
                Scope::AllAnew => (evaluate()?, Origin::Fresh),
                Scope::Visible | Scope::All => self.cache.get(&self.referee.key(graph, &candidate), evaluate)?,
            };
            // An equal graph of another name has the same key.
            verdict.id = graph.id().clone();
            judged.push(Judged::new(verdict, held_out, origin == Origin::Known, &findings));
        }
        let wall_ns = begin.elapsed().as_nanos() as u64;
        let judgement = sum_up(passes.id().clone(), &judged, self.referee.settings().correct_at, wall_ns);
        let text = explain(&judgement, &judged);
        let mut findings: Vec<String> = findings.iter().map(|finding| finding.rule.to_owned()).collect();
        findings.dedup();
        Ok(Explained { judgement, text, findings })
    }
}

/// What came of it, one line per graph, then the reasons; never a word of graphs that are held out.
fn explain(judgement: &Judgement, judged: &[Judged]) -> String {
    let shown: Vec<&Judged> = judged.iter().filter(|judged| !judged.held_out).collect();
    let correct = shown.iter().filter(|judged| judged.verdict.status == Status::Correct).count();
    let mut text =
        format!("{correct} of {} graphs correct, score {:.3} (1 is doing nothing)\n", shown.len(), judgement.score);
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
    text
}
