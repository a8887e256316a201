//! What a model can do: edit the pass directory, have it evaluated, look at the graphs.

pub(crate) mod facts;
mod profile;

use std::time::Instant;

use passnet_eval::{EvalError, PassDirectory};
use passnet_python::lint::Finding;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    evaluator::{Evaluator, Scope},
    judgement::{Check, Judgement},
    message::{ToolCall, ToolSpec, shortened},
    task::Task,
    workspace::{PLACE, Workspace},
};

/// Bytes of one observation.
const MAX_OBSERVATION: usize = 16 << 10;

const WHICH_GRAPH: &str = "name of the graph; the first one if not given";
/// Where an evaluation can stop.
const STAGES: [&str; 3] = ["lint", "check", "all"];

/// The tools, as models are told of them.
pub fn specs() -> Vec<ToolSpec> {
    let tool = |name: &str, description: &str, parameters: Value| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
    };
    let text = |description: &str| json!({"type": "string", "description": description});
    vec![
        tool(
            "file_editor",
            "View and edit the pass directory. `view` shows a file with line numbers, or lists the directory; `create` writes \
             a whole file, over what was there; `str_replace` replaces text that occurs exactly once; `insert` adds lines \
             after a line; `delete` removes a file.",
            json!({"type": "object", "required": ["command"], "properties": {
                "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "delete"]},
                "path": text("/passes for the directory, /passes/NAME for a file"),
                "file_text": text("create: the whole text"),
                "old_str": text("str_replace: what to replace"),
                "new_str": text("str_replace: what to put there"),
                "insert_line": {"type": "integer", "description": "insert: the line to insert after, 0 for the beginning"},
                "insert_text": text("insert: the lines"),
                "view_range": {"type": "array", "items": {"type": "integer"}, "description": "view: first and last line"},
            }}),
        ),
        tool(
            "pass_evaluator",
            "Evaluates the pass directory as it is now on the graphs of the task: lint (integrity rules), match, check \
             (correctness on several inputs), timing (against eager). Says of each graph at which of these it failed and why. \
             `stage` is where to stop: `lint` is done at once; `check` tells whether the results are right, sooner than with timing, \
             and is no score; `all` is the default. For a GPU, results are first checked on the CPU, with Triton's interpreter; what is \
             wrong there fails at cpu, and the GPU is not asked unless `skip_cpu` is true.",
            json!({"type": "object", "properties": {
                "stage": {"type": "string", "enum": STAGES},
                "skip_cpu": {"type": "boolean", "description": "go to the GPU at once, where the interpreter is known to be wrong"},
            }}),
        ),
        tool(
            "graph_info",
            "Types of all values of a graph (dtype, shape, strides), the bytes that eager mode and an ideal kernel move, the \
             arithmetic of products, and a bound on the time from measured memory bandwidth.",
            json!({"type": "object", "properties": {"graph": text(WHICH_GRAPH)}}),
        ),
        tool(
            "profile",
            "What runs in one call of a graph, as PyTorch's profiler sees it: kernels and operators with their times and counts, of \
             eager mode and, where there are passes, of the graph as they rewrite it. Tells where time goes; it is no measurement \
             and no verdict.",
            json!({"type": "object", "properties": {"graph": text(WHICH_GRAPH)}}),
        ),
    ]
}

/// The passes that scored best so far.
#[derive(Clone, Debug)]
pub struct Best {
    /// The files.
    pub passes: PassDirectory,
    /// Score on the visible graphs.
    pub score: f64,
    /// Whether any graph was correct.
    pub correct: usize,
}

/// What the tools work on.
#[derive(Clone, Copy, Debug)]
pub struct Bench<'a> {
    /// Evaluates.
    pub evaluator: &'a Evaluator,
    /// The task.
    pub task: &'a Task,
}

/// An attempt's side of the tools: its files, and the best of them.
#[derive(Clone, Debug, Default)]
pub struct Toolbox {
    workspace: Workspace,
    best: Option<Best>,
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The text for the model.
    pub content: String,
    /// Whether the call did what was asked.
    pub ok: bool,
    /// What an evaluation found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Judgement>,
    /// What checks without timing found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// Integrity rules that were broken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// How long it took.
    pub wall_ns: u64,
}

impl Toolbox {
    /// The best passes so far.
    pub fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    /// The files as they are now.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Carries out a call. What the model does wrong is an observation.
    ///
    /// # Errors
    /// Where the referee does not work.
    pub fn call(&mut self, bench: Bench<'_>, call: &ToolCall) -> Result<Observation, EvalError> {
        let begin = Instant::now();
        let mut observation = match call.name.as_str() {
            "file_editor" => said(self.edit(&call.arguments)),
            "pass_evaluator" => self.evaluate(bench, &call.arguments)?,
            "graph_info" => said(look(bench, &call.arguments)),
            "profile" => self.profile(bench, &call.arguments)?,
            other => {
                let known: Vec<String> = specs().into_iter().map(|tool| tool.name).collect();
                said(Err(format!("there is no tool `{}`; there are {}", shortened(other, 80), known.join(", "))))
            }
        };
        observation.content = shortened(&observation.content, MAX_OBSERVATION);
        observation.wall_ns = begin.elapsed().as_nanos() as u64;
        Ok(observation)
    }

    /// Repeats what a recorded call did to the files and to the best, without evaluating anything.
    pub fn replay(&mut self, call: &ToolCall, observed: &Observation) {
        match (call.name.as_str(), &observed.evaluation) {
            // It succeeded or failed then as it does now.
            ("file_editor", _) => drop(self.edit(&call.arguments)),
            ("pass_evaluator", Some(judgement)) => self.keep(judgement),
            _ => {}
        }
    }

    fn edit(&mut self, arguments: &Value) -> Result<String, String> {
        if !arguments.is_object() {
            return Err(not_an_object(arguments));
        }
        let text = |names: &[&str]| names.iter().find_map(|name| arguments.get(name).and_then(Value::as_str));
        let need = |names: &[&str]| text(names).ok_or_else(|| format!("argument `{}` is missing or no text", names[0]));
        let path = text(&["path", "file_path", "file"]).unwrap_or(PLACE);
        let files = &mut self.workspace;
        let done = match need(&["command"])? {
            "view" if Workspace::is_root(path) => return Ok(files.list()),
            "view" => {
                return numbered(files.read(path).map_err(|error| error.to_string())?, arguments.get("view_range"));
            }
            "create" => files.write(path, need(&["file_text", "content", "text"])?.to_owned()),
            "str_replace" => files.replace(path, need(&["old_str", "old"])?, text(&["new_str", "new"]).unwrap_or("")),
            "insert" => {
                let line = arguments
                    .get("insert_line")
                    .and_then(whole_number)
                    .ok_or("argument `insert_line` is no integer")?;
                files.insert(path, line, need(&["insert_text", "new_str", "text"])?)
            }
            "delete" => files.delete(path),
            other => {
                return Err(format!(
                    "there is no command `{}`; there are view, create, str_replace, insert, delete",
                    shortened(other, 80)
                ));
            }
        };
        done.map_err(|error| error.to_string())?;
        Ok(format!("done. {}", files.list()))
    }

    fn evaluate(&mut self, bench: Bench<'_>, arguments: &Value) -> Result<Observation, EvalError> {
        let passes = self.workspace.passes();
        let skip_cpu = arguments.get("skip_cpu").is_some_and(is_true);
        match arguments.get("stage").and_then(Value::as_str).unwrap_or("all") {
            "lint" => Ok(said(Ok(lint(&passes)))),
            "check" => {
                let checked = bench.evaluator.check(bench.task, &passes, !skip_cpu)?;
                let ok = checked.check.correct() > 0;
                let (check, findings) = (Some(checked.check), checked.findings);
                Ok(Observation { content: checked.text, ok, check, findings, ..Observation::default() })
            }
            "all" => {
                let scope = if skip_cpu { Scope::VisibleOnDevice } else { Scope::Visible };
                let explained = bench.evaluator.judge(bench.task, &passes, scope)?;
                self.keep(&explained.judgement);
                let mut content = explained.text;
                if let Some(best) = &self.best {
                    content.push_str(&format!("\nbest score so far: {:.3}", best.score));
                }
                let ok = explained.judgement.correct() > 0;
                let (evaluation, findings) = (Some(explained.judgement), explained.findings);
                Ok(Observation { content, ok, evaluation, findings, ..Observation::default() })
            }
            other => {
                let known = STAGES.join(", ");
                Ok(said(Err(format!("there is no stage `{}`; there are {known}", shortened(other, 80)))))
            }
        }
    }

    fn profile(&self, bench: Bench<'_>, arguments: &Value) -> Result<Observation, EvalError> {
        let index = match asked_graph(bench.task, arguments) {
            Ok(index) => index,
            Err(why) => return Ok(said(Err(why))),
        };
        let (content, ok) = profile::profile(bench.evaluator, &bench.task.visible[index], self.workspace.passes())?;
        Ok(Observation { content, ok, ..Observation::default() })
    }

    fn keep(&mut self, judgement: &Judgement) {
        let better = self
            .best
            .as_ref()
            .is_none_or(|best| (judgement.correct() > 0, judgement.score) > (best.correct > 0, best.score));
        if better {
            self.best =
                Some(Best { passes: self.workspace.passes(), score: judgement.score, correct: judgement.correct() });
        }
    }
}

/// Position of the graph that a call names; the first one where it names none.
fn asked_graph(task: &Task, arguments: &Value) -> Result<usize, String> {
    let names = || task.visible.iter().map(|graph| graph.id().graph.as_str()).collect::<Vec<_>>().join(", ");
    match arguments.get("graph").and_then(Value::as_str).filter(|name| !name.trim().is_empty()) {
        None => Ok(0),
        Some(name) => {
            let found = task.visible.iter().position(|graph| graph.id().graph == name.trim());
            found.ok_or_else(|| format!("there is no graph `{}`; there are {}", shortened(name, 80), names()))
        }
    }
}

fn look(bench: Bench<'_>, arguments: &Value) -> Result<String, String> {
    let index = asked_graph(bench.task, arguments)?;
    let typed = bench.task.typed(bench.evaluator.propagator());
    let typed = typed.map_err(|why| format!("types cannot be inferred: {why}"))?;
    let on_cpu = bench.evaluator.referee().settings().device == "cpu";
    Ok(facts::describe(bench.task.visible[index].id().graph.as_str(), &typed[index], on_cpu))
}

fn said(result: Result<String, String>) -> Observation {
    let ok = result.is_ok();
    let content = result.unwrap_or_else(|why| format!("error: {why}"));
    Observation { content, ok, ..Observation::default() }
}

/// What the rules have against the passes, a line each.
fn lint(passes: &PassDirectory) -> String {
    let findings = Evaluator::lint(passes);
    if findings.is_empty() {
        return "the rules have nothing against it".to_owned();
    }
    let line = |f: &Finding| {
        let (file, line, column) = (&f.file, f.start.line, f.start.column);
        format!("{file}:{line}:{column}: {} ({}): {}; {}", f.rule, f.name, f.message, f.help)
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Yes, also where it is written as text.
fn is_true(value: &Value) -> bool {
    value.as_bool().unwrap_or_else(|| value.as_str().is_some_and(|text| text.trim().eq_ignore_ascii_case("true")))
}

fn not_an_object(arguments: &Value) -> String {
    let sent = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    format!("the arguments are no JSON object; what came begins `{}`", shortened(&sent, 200))
}

/// An integer, also where it is written as text.
fn whole_number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn numbered(text: &str, range: Option<&Value>) -> Result<String, String> {
    let lines: Vec<&str> = text.lines().collect();
    let bounds: Option<Vec<i64>> =
        range.and_then(Value::as_array).map(|ends| ends.iter().filter_map(whole_number).collect());
    let (first, last) = match bounds.as_deref() {
        None | Some([]) => (1, lines.len()),
        Some(&[first, last]) if first >= 1 => {
            let last = if last < 0 { lines.len() } else { (last as usize).min(lines.len()) };
            (first as usize, last)
        }
        Some(_) => return Err("`view_range` is two line numbers: first and last, counted from 1".to_owned()),
    };
    let shown = lines.iter().enumerate().skip(first - 1).take((last + 1).saturating_sub(first));
    Ok(shown.map(|(index, line)| format!("{:>5}  {line}", index + 1)).collect::<Vec<_>>().join("\n"))
}
