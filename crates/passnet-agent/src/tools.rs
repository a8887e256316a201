//! Tools of a model: edit the pass directory, evaluate it, inspect the graphs.

mod arguments;
mod best_state;
mod docs;
mod editor;
mod profile;
mod scratch;
mod specs;

use std::time::Instant;

use passnet_eval::EvalError;
use passnet_lint::Finding;
use passnet_record::{
    Depth, PassDirectory,
    agent::{Observation, TaskEvaluation, ToolCall, ToolOutcome},
};
use serde_json::Value;

use self::arguments::Arguments;
pub use self::specs::specs;
use crate::{
    evaluator::{EvaluationScope, Evaluator, Explained, broken_rules},
    graph_facts,
    machine_facts::machine_facts,
    shorten::shortened,
    task::Task,
    workspace::Workspace,
};

/// Maximum tool calls of one reply that are carried out.
pub(crate) const MAX_CALLS: usize = 16;
/// Maximum bytes of one observation.
const MAX_OBSERVATION: usize = 16 << 10;
/// Stages at which an evaluation can stop.
const STAGES: [(&str, Depth); 3] = [("lint", Depth::Lint), ("check", Depth::Check), ("all", Depth::Timing)];

/// The passes with the best score so far.
#[derive(Clone, Debug)]
pub struct Best {
    /// Files of the pass directory.
    pub passes: PassDirectory,
    /// Score on the visible graphs.
    pub score: f64,
    /// Number of correct visible graphs.
    pub correct: usize,
}

/// Evaluator and task that the tools work with.
#[derive(Clone, Copy, Debug)]
pub struct ToolContext<'a> {
    /// Evaluator of the run.
    pub evaluator: &'a Evaluator,
    /// Task of the attempt.
    pub task: &'a Task,
}

/// State of an attempt's tools: its files, and the best of them.
#[derive(Clone, Debug, Default)]
pub struct Toolbox {
    workspace: Workspace,
    best: Option<Best>,
}

impl Toolbox {
    /// Returns the best passes so far.
    pub fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    /// Returns the current files.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Carries out a call. A mistake of the model is an observation, not an error.
    ///
    /// # Errors
    /// Fails if the referee does not work.
    pub fn call(&mut self, context: ToolContext<'_>, call: &ToolCall) -> Result<Observation, EvalError> {
        let begin = Instant::now();
        let arguments = &call.arguments;
        let mut observation = match call.name.as_str() {
            "file_editor" => Observation::of(editor::edit(&mut self.workspace, arguments)),
            "pass_evaluator" => match EvaluationRequest::read(arguments) {
                Ok(request) => self.evaluate(context, request)?,
                Err(why) => Observation::of(Err(why)),
            },
            "graph_info" => Observation::of(graph_info(context, arguments)),
            "docs" => Observation::of(read_docs(context, arguments)),
            "best_state" => Observation::of(self.best_state(arguments)),
            "profile" => match requested_graph(context.task, arguments) {
                Ok(graph) => self.profile(context, graph)?,
                Err(why) => Observation::of(Err(why)),
            },
            "scratch_run" => {
                let passes = self.workspace.passes();
                Observation::of(scratch::scratch(context.evaluator, &passes, arguments)?)
            }
            other => {
                let known: Vec<String> = specs().into_iter().map(|tool| tool.name).collect();
                let other = shortened(other, 80);
                Observation::of(Err(format!("there is no tool `{other}`; the tools are {}", known.join(", "))))
            }
        };
        // The limit applies to all tools, because one long observation could fill the context of a small model.
        observation.content = shortened(&observation.content, MAX_OBSERVATION);
        observation.outcome.wall_ns = begin.elapsed().as_nanos() as u64;
        Ok(observation)
    }

    /// Repeats the changes of a recorded call to the files and to the best passes, without evaluating anything.
    pub fn replay(&mut self, call: &ToolCall, observed: &Observation) {
        match (call.name.as_str(), &observed.outcome.evaluation) {
            // An edit succeeds or fails as it did when it was recorded.
            ("file_editor", _) => drop(editor::edit(&mut self.workspace, &call.arguments)),
            ("best_state", _) => drop(self.best_state(&call.arguments)),
            ("pass_evaluator", Some(evaluation)) => self.keep(evaluation),
            _ => {}
        }
    }

    fn best_state(&mut self, arguments: &Value) -> Result<String, String> {
        best_state::best_state(&mut self.workspace, self.best.as_ref().map(|best| &best.passes), arguments)
    }

    fn evaluate(&mut self, context: ToolContext<'_>, request: EvaluationRequest) -> Result<Observation, EvalError> {
        let ToolContext { evaluator, task } = context;
        let passes = self.workspace.passes();
        match request.depth {
            Depth::Lint => Ok(lint(&passes)),
            // A check keeps no best state: passes that were not timed have no score to compare.
            Depth::Match | Depth::Cpu | Depth::Check => {
                let Explained { outcome: check, text, findings } = evaluator.check(task, &passes, !request.skip_cpu)?;
                let ok = check.correct() > 0;
                let outcome = ToolOutcome { ok, check: Some(check), findings, ..ToolOutcome::default() };
                Ok(Observation { content: text, outcome })
            }
            Depth::Timing => {
                let scope = if request.skip_cpu { EvaluationScope::VisibleSkipCpu } else { EvaluationScope::Visible };
                let Explained { outcome: evaluation, mut text, findings } = evaluator.evaluate(task, &passes, scope)?;
                self.keep(&evaluation);
                if let Some(best) = &self.best {
                    text.push_str(&format!("\nbest score so far: {:.3}", best.score));
                }
                let ok = evaluation.correct() > 0;
                let outcome = ToolOutcome { ok, evaluation: Some(evaluation), findings, ..ToolOutcome::default() };
                Ok(Observation { content: text, outcome })
            }
        }
    }

    fn profile(&self, context: ToolContext<'_>, graph: usize) -> Result<Observation, EvalError> {
        let graph = &context.task.visible[graph];
        let (content, ok) = profile::profile(context.evaluator, graph, self.workspace.passes())?;
        Ok(Observation { content, outcome: ToolOutcome { ok, ..ToolOutcome::default() } })
    }

    fn keep(&mut self, evaluation: &TaskEvaluation) {
        let (score, correct) = (evaluation.score, evaluation.correct());
        // Correct before fast: a wrong pass on one of many graphs can still have the higher mean.
        let better = |best: &Best| (correct > 0, score) > (best.correct > 0, best.score);
        if self.best.as_ref().is_none_or(better) {
            self.best = Some(Best { passes: self.workspace.passes(), score, correct });
        }
    }
}

/// Arguments of `pass_evaluator`.
#[derive(Clone, Copy, Debug)]
struct EvaluationRequest {
    depth: Depth,
    skip_cpu: bool,
}

impl EvaluationRequest {
    fn read(arguments: &Value) -> Result<Self, String> {
        let arguments = Arguments::of(arguments, &["stage", "skip_cpu"])?;
        let stage = arguments.text(&["stage"])?.unwrap_or("all");
        let found = STAGES.iter().find(|(name, _)| *name == stage);
        let (_, depth) = found.ok_or_else(|| {
            let known: Vec<&str> = STAGES.iter().map(|(name, _)| *name).collect();
            format!("there is no stage `{}`; the stages are {}", shortened(stage, 80), known.join(", "))
        })?;
        Ok(Self { depth: *depth, skip_cpu: arguments.flag("skip_cpu")? })
    }
}

/// Returns the index of the graph that a call names; 0 if it names none.
fn requested_graph(task: &Task, arguments: &Value) -> Result<usize, String> {
    let arguments = Arguments::of(arguments, &["graph"])?;
    let names = || task.visible.iter().map(|graph| graph.id().graph.as_str()).collect::<Vec<_>>().join(", ");
    match arguments.text(&["graph"])?.filter(|name| !name.trim().is_empty()) {
        None => Ok(0),
        Some(name) => {
            let found = task.visible.iter().position(|graph| graph.id().graph == name.trim());
            found.ok_or_else(|| format!("there is no graph `{}`; the graphs are {}", shortened(name, 80), names()))
        }
    }
}

fn graph_info(context: ToolContext<'_>, arguments: &Value) -> Result<String, String> {
    let ToolContext { evaluator, task } = context;
    let index = requested_graph(task, arguments)?;
    let typed = task
        .typed(evaluator.propagator())
        .map_err(|why| format!("the types of the graph cannot be inferred: {why}"))?;
    let on_cpu = evaluator.referee().settings().device.is_cpu();
    Ok(graph_facts::describe(task.visible[index].id().graph.as_str(), &typed[index], on_cpu))
}

fn read_docs(context: ToolContext<'_>, arguments: &Value) -> Result<String, String> {
    let referee = context.evaluator.referee();
    docs::docs(arguments, &machine_facts(referee.settings(), referee.fingerprint()))
}

/// Lists the lint findings, one per line.
fn lint(passes: &PassDirectory) -> Observation {
    let findings = Evaluator::lint(passes);
    let line = |f: &Finding| {
        let (file, line, column) = (&f.file, f.start.line, f.start.column);
        format!("{file}:{line}:{column}: {} ({}): {}; {}", f.rule, f.name, f.message, f.help)
    };
    let lines: Vec<String> = findings.iter().map(line).collect();
    let content = if lines.is_empty() { "no rule is broken".to_owned() } else { lines.join("\n") };
    let outcome = ToolOutcome { ok: true, findings: broken_rules(&findings), ..ToolOutcome::default() };
    Observation { content, outcome }
}
