//! The training environment: episodes by JSON, one request and one reply at a time.
//!
//! ```text
//! {"op": "tasks"}                                     -> {"tasks": [...]}
//! {"op": "reset", "task": T}                          -> {"session": S, "messages": [...], "tools": [...]}
//! {"op": "step", "session": S, "action": A}           -> {"messages": [...], "reward": r, "done": d, "info": {...}}
//! {"op": "close", "session": S}                       -> {}
//! ```
//!
//! An action is an answer of a model: a chat message (an object with `content` and `tool_calls`, in any dialect) or its text.
//! Sessions run concurrently. A reply repeats the `id` of its request; a request that cannot be served is answered with `error`.
//! A [`transport`](crate::transport) calls [`EnvServer::handle`] from any number of threads.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use passnet_eval::EvalError;
use passnet_record::{ContentId, PassDirectory};
use passnet_run::Suite;
use serde_json::{Value, json};

use crate::{
    client::{openai_message, reply_of},
    evaluation::{TaskCheck, TaskEvaluation},
    evaluator::{EvaluationScope, Evaluator},
    journal::SCHEMA_VERSION,
    machine_facts::machine_facts,
    message::{Message, ToolCall},
    prompt::Templates,
    reward::Reward,
    task::Task,
    tools::{MAX_CALLS, ToolContext, Toolbox, specs},
    trajectory::observed,
};

/// Maximum number of open sessions.
const MAX_SESSIONS: usize = 4096;

/// Options of episodes.
#[derive(Clone, Debug)]
pub struct EnvOptions {
    /// Maximum actions of an episode.
    pub steps: u32,
    /// Prompt templates.
    pub templates: Templates,
    /// Measure the best passes again at the end, so that the rewards of an episode sum up to that measurement. Otherwise they
    /// sum up to the best measurement so far, which repeated tries can raise by luck.
    pub remeasure: bool,
}

/// Serves episodes on the tasks of a suite.
#[derive(Debug)]
pub struct EnvServer {
    suite: Suite,
    evaluator: Evaluator,
    options: EnvOptions,
    tasks: Mutex<BTreeMap<String, Arc<Task>>>,
    sessions: Mutex<BTreeMap<u64, Arc<Mutex<Episode>>>>,
    next: AtomicU64,
}

/// One episode.
#[derive(Debug)]
struct Episode {
    task: Arc<Task>,
    toolbox: Toolbox,
    step: u32,
    done: bool,
    /// The passes with the highest reward so far, over all graphs.
    best: Option<(PassDirectory, Reward)>,
    /// Sum of the rewards given.
    given: f64,
}

/// Result of one action.
#[derive(Debug, Default)]
struct ActionResult {
    messages: Vec<Message>,
    evaluations: Vec<TaskEvaluation>,
    checks: Vec<TaskCheck>,
    findings: Vec<String>,
    reward: f64,
    interval: Reward,
}

impl EnvServer {
    /// Creates a server of a suite.
    pub fn new(suite: Suite, evaluator: Evaluator, options: EnvOptions) -> Self {
        let (tasks, sessions, next) = Default::default();
        Self { suite, evaluator, options, tasks, sessions, next }
    }

    /// Answers one request.
    pub fn handle(&self, request: &Value) -> Value {
        let answer = match request.get("op").and_then(Value::as_str) {
            Some("tasks") => {
                Ok(json!({"tasks": self.suite.record.tasks.iter().map(|task| &task.id).collect::<Vec<_>>()}))
            }
            Some("reset") => self.reset(request),
            Some("step") => self.step(request),
            Some("close") => self.close(request),
            Some(other) => Err(format!("there is no op `{other}`; there are tasks, reset, step, close")),
            None => Err("a request has an `op`: tasks, reset, step, close".to_owned()),
        };
        let mut answer = answer.unwrap_or_else(|error| json!({"error": error}));
        if let (Some(fields), Some(id)) = (answer.as_object_mut(), request.get("id")) {
            fields.insert("id".to_owned(), id.clone());
        }
        answer
    }

    /// Answers one line of JSON with another.
    pub fn handle_text(&self, request: &str) -> String {
        match serde_json::from_str::<Value>(request) {
            Ok(request) => self.handle(&request).to_string(),
            Err(error) => json!({"error": format!("the request is no JSON: {error}")}).to_string(),
        }
    }

    fn task(&self, name: &str) -> Result<Arc<Task>, String> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = tasks.get(name) {
            return Ok(Arc::clone(task));
        }
        let record = self.suite.record.tasks.iter().find(|task| task.id == name);
        let record = record.ok_or_else(|| format!("the suite has no task `{name}`"))?;
        let task = Arc::new(Task::read(&self.suite, record).map_err(|error| error.to_string())?);
        tasks.insert(name.to_owned(), Arc::clone(&task));
        Ok(task)
    }

    fn reset(&self, request: &Value) -> Result<Value, String> {
        let name = request.get("task").and_then(Value::as_str).ok_or("`reset` needs the name of a `task`")?;
        let task = self.task(name)?;
        let (settings, fingerprint) = (self.evaluator.referee().settings(), self.evaluator.referee().fingerprint());
        let machine = machine_facts(settings, fingerprint);
        let messages = self.options.templates.begin(&task, settings.device, &machine, self.options.steps);
        let episode = Episode { task, toolbox: Toolbox::default(), step: 0, done: false, best: None, given: 0.0 };
        let session = self.next.fetch_add(1, Ordering::Relaxed);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= MAX_SESSIONS {
            return Err(format!("{MAX_SESSIONS} sessions are open; close some"));
        }
        sessions.insert(session, Arc::new(Mutex::new(episode)));
        let tools: Vec<Value> = specs().iter().map(|tool| json!({"type": "function", "function": tool})).collect();
        Ok(json!({
            "schema_version": SCHEMA_VERSION,
            "session": session,
            "messages": messages.iter().map(openai_message).collect::<Vec<_>>(),
            "tools": tools,
        }))
    }

    fn session(&self, request: &Value) -> Result<(u64, Arc<Mutex<Episode>>), String> {
        let session = request.get("session").and_then(Value::as_u64).ok_or("the request needs a `session`")?;
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let episode = sessions.get(&session).ok_or_else(|| format!("there is no session {session}"))?;
        Ok((session, Arc::clone(episode)))
    }

    fn close(&self, request: &Value) -> Result<Value, String> {
        let (session, _) = self.session(request)?;
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
        Ok(json!({}))
    }

    fn step(&self, request: &Value) -> Result<Value, String> {
        let (_, episode) = self.session(request)?;
        let mut episode = episode.lock().unwrap_or_else(PoisonError::into_inner);
        if episode.done {
            return Err("the episode is over; reset".to_owned());
        }
        let action = request.get("action").ok_or("`step` needs an `action`")?;
        let reply =
            reply_of(action, &specs()).ok_or("the action is no chat message: give text or an object with `content`")?;
        let outcome = self.act(&mut episode, &reply.tool_calls).map_err(|error| error.to_string())?;
        Ok(json!({
            "messages": outcome.messages.iter().map(openai_message).collect::<Vec<_>>(),
            "reward": outcome.reward,
            "done": episode.done,
            "info": {
                "step": episode.step,
                "steps": self.options.steps,
                "evaluations": outcome.evaluations,
                "checks": outcome.checks,
                "rules_broken": outcome.findings,
                "score": episode.toolbox.best().map(|best| best.score),
                "return": episode.given,
                "interval": outcome.interval,
            },
        }))
    }

    fn act(&self, episode: &mut Episode, calls: &[ToolCall]) -> Result<ActionResult, EvalError> {
        let mut outcome = ActionResult::default();
        let task = Arc::clone(&episode.task);
        let context = ToolContext { evaluator: &self.evaluator, task: &task };
        let before = episode.best.as_ref().map_or(0.0, |(_, reward)| reward.value);
        for call in calls.iter().take(MAX_CALLS) {
            let observation = episode.toolbox.call(context, call)?;
            if let Some(seen) = &observation.outcome.evaluation {
                self.value(episode, seen)?;
                outcome.evaluations.push(seen.clone());
            }
            outcome.messages.push(observed(&call.id, &call.name, &observation));
            outcome.checks.extend(observation.outcome.check);
            outcome.findings.extend(observation.outcome.findings);
        }
        episode.step += 1;
        episode.done = calls.is_empty() || episode.step >= self.options.steps;
        let reached = episode.best.as_ref().map(|(_, reward)| *reward).unwrap_or_default();
        outcome.interval = reached;
        outcome.reward = reached.value - before;
        if episode.done
            && self.options.remeasure
            && let Some((passes, _)) = &episode.best
        {
            let remeasured = self.evaluator.evaluate(&task, passes, EvaluationScope::AllRemeasured)?.outcome.reward;
            outcome.interval = remeasured;
            outcome.reward = remeasured.value - episode.given;
        }
        episode.given += outcome.reward;
        if let Some(Message::Tool { content, .. }) = outcome.messages.last_mut() {
            content.push_str(&format!("\n\n[steps remaining: {}]", self.options.steps.saturating_sub(episode.step)));
        }
        Ok(outcome)
    }

    /// Updates the best reward after an evaluation, over all graphs including the held-out ones.
    fn value(&self, episode: &mut Episode, seen: &TaskEvaluation) -> Result<(), EvalError> {
        let passes = episode.toolbox.workspace().passes();
        let reward = if episode.task.held_out.is_empty() || seen.reward.value == 0.0 {
            seen.reward
        } else {
            self.evaluator.evaluate(&episode.task, &passes, EvaluationScope::All)?.outcome.reward
        };
        if reward.value > episode.best.as_ref().map_or(0.0, |(_, best)| best.value) {
            episode.best = Some((passes, reward));
        }
        Ok(())
    }

    /// Returns the content id of suite and settings.
    pub fn id(&self) -> ContentId {
        let settings = serde_json::to_vec(self.evaluator.referee().settings()).unwrap_or_default();
        ContentId::of_parts([self.suite.record.version.as_bytes(), settings.as_slice()])
    }
}
