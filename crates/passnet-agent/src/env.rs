//! The training environment: episodes by JSON, one request and one reply at a time.
//!
//! The messages are types of [`passnet_record::env`]. On a fleet, an action that needs a device is refused with `retry_after_s` if
//! the client is over its quota or the queue is full; the action was not carried out. A `step` with the `key` of the previous step gets
//! the same reply again, so a client whose connection broke may repeat the request.
//!
//! Sessions run concurrently. A [`transport`](crate::transport) calls [`EnvServer::answer`] from any number of threads.

mod answer;
mod client;
mod refusal;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use passnet_eval::EvalError;
use passnet_record::{
    ContentId, PassDirectory,
    agent::{Message, Reward, TaskCheck, TaskEvaluation, ToolCall},
    env::{ChatTool, CloseReply, EnvRequest, ResetReply, ResetRequest, StepInfo, StepReply, StepRequest, TasksReply},
    fleet::FleetClient,
};
use passnet_run::Suite;

pub use self::answer::EnvAnswer;
use self::{
    answer::{EnvBody, read_request},
    client::client_of,
    refusal::Refusal,
};
use crate::{
    client::{openai_message, reply_of},
    devices::{Admitted, Devices},
    evaluator::{EvaluationScope, Evaluator},
    machine_facts::machine_facts,
    prompt::Templates,
    task::Task,
    tools::{MAX_CALLS, ToolContext, Toolbox, specs},
    trajectory::observed,
};

/// Maximum number of open sessions.
const MAX_SESSIONS: usize = 4096;

/// Requests in progress at a time, without a fleet.
const MAX_REQUESTS: usize = 256;
/// Number of requests in addition to the actions of a fleet: requests that need no device, and requests that are refused with a hint to
/// retry.
const MORE_REQUESTS: usize = 1024;

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
    /// Evaluates for the client of the episode.
    evaluator: Evaluator,
    client: FleetClient,
    /// Key and reply of the last action.
    last: Option<(String, StepReply)>,
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

    /// Answers one request, a JSON object as text.
    pub fn answer(&self, request: &str) -> EnvAnswer {
        let (id, request) = read_request(request);
        let body = request.map_err(Refusal::Error).and_then(|request| self.serve(request));
        EnvAnswer { id, body: body.unwrap_or_else(|refusal| EnvBody::Refused(refusal.into())) }
    }

    fn serve(&self, request: EnvRequest) -> Result<EnvBody, Refusal> {
        Ok(match request {
            EnvRequest::Tasks => {
                let tasks = self.suite.record.tasks.iter().map(|task| task.id.clone()).collect();
                EnvBody::Tasks(TasksReply { tasks })
            }
            EnvRequest::Reset(request) => EnvBody::Reset(self.reset(&request)?),
            EnvRequest::Step(request) => EnvBody::Step(Box::new(self.step(request)?)),
            EnvRequest::Close { session } => {
                self.session(session)?;
                self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
                EnvBody::Close(CloseReply {})
            }
        })
    }

    /// Returns the fleet that evaluates, if there is one.
    pub fn devices(&self) -> Option<&dyn Devices> {
        self.evaluator.devices()
    }

    /// Returns how many requests may be in progress at a time.
    pub fn requests(&self) -> usize {
        self.devices().map_or(MAX_REQUESTS, |devices| devices.actions().saturating_add(MORE_REQUESTS))
    }

    fn task(&self, name: &str) -> Result<Arc<Task>, String> {
        // Held while the task is read: concurrent resets of one task would otherwise read its graphs many
        // times.
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

    fn reset(&self, request: &ResetRequest) -> Result<ResetReply, Refusal> {
        let (task, client) = (self.task(&request.task)?, client_of(request)?);
        let (settings, fingerprint) = (self.evaluator.referee().settings(), self.evaluator.referee().fingerprint());
        let machine = machine_facts(settings, fingerprint);
        let messages = self.options.templates.begin(&task, settings.device, &machine, self.options.steps);
        let evaluator = self.evaluator.for_client(&client);
        let (toolbox, step, done, best, given, last) = Default::default();
        let episode = Episode { task, toolbox, step, done, best, given, evaluator, client, last };
        let session = self.next.fetch_add(1, Ordering::Relaxed);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= MAX_SESSIONS {
            return Err(format!("{MAX_SESSIONS} sessions are open; close some").into());
        }
        sessions.insert(session, Arc::new(Mutex::new(episode)));
        let messages = messages.iter().map(openai_message).collect();
        Ok(ResetReply { session, messages, tools: specs().into_iter().map(ChatTool::from).collect() })
    }

    fn session(&self, session: u64) -> Result<Arc<Mutex<Episode>>, String> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let episode = sessions.get(&session).ok_or_else(|| format!("there is no session {session}"))?;
        Ok(Arc::clone(episode))
    }

    fn step(&self, request: StepRequest) -> Result<StepReply, Refusal> {
        let StepRequest { session, action, key } = request;
        let episode = self.session(session)?;
        let mut episode = episode.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the check for the end, because the repeated request may have ended the episode.
        if let Some((last, reply)) = &episode.last
            && key.as_ref() == Some(last)
        {
            return Ok(reply.clone());
        }
        if episode.done {
            return Err("the episode is over; reset".into());
        }
        let reply = reply_of(&action, &specs())
            .ok_or("the action is no chat message: give text or an object with `content`")?;
        let client = episode.client.clone();
        // Checked before anything is done, so that a refused action can be repeated unchanged.
        let _admitted = match self.devices() {
            Some(devices) if self.needs_device(&episode, &reply.tool_calls) => {
                Some(Admitted::new(devices, &client).map_err(Refusal::Busy)?)
            }
            _ => None,
        };
        let outcome = self.act(&mut episode, &reply.tool_calls)?;
        let reply = self.reply(&episode, outcome);
        episode.last = key.map(|key| (key, reply.clone()));
        Ok(reply)
    }

    /// Returns whether an action may use a device: through a tool, or for the measurement at the end of the episode.
    fn needs_device(&self, episode: &Episode, calls: &[ToolCall]) -> bool {
        let is_last = calls.is_empty() || episode.step + 1 >= self.options.steps;
        let measured_again = is_last && self.options.remeasure && episode.best.is_some();
        measured_again || calls.iter().any(|call| matches!(call.name.as_str(), "pass_evaluator" | "profile"))
    }

    fn reply(&self, episode: &Episode, outcome: ActionResult) -> StepReply {
        StepReply {
            messages: outcome.messages.iter().map(openai_message).collect(),
            reward: outcome.reward,
            done: episode.done,
            info: StepInfo {
                step: episode.step,
                steps: self.options.steps,
                evaluations: outcome.evaluations,
                checks: outcome.checks,
                rules_broken: outcome.findings,
                score: episode.toolbox.best().map(|best| best.score),
                total: episode.given,
                interval: outcome.interval,
            },
        }
    }

    fn act(&self, episode: &mut Episode, calls: &[ToolCall]) -> Result<ActionResult, EvalError> {
        let mut outcome = ActionResult::default();
        let (task, evaluator) = (Arc::clone(&episode.task), episode.evaluator.clone());
        let context = ToolContext { evaluator: &evaluator, task: &task };
        let before = episode.best.as_ref().map_or(0.0, |(_, reward)| reward.value);
        // The limit is the same as for attempts, so that a policy has the same rules in training and in evaluation.
        for call in calls.iter().take(MAX_CALLS) {
            let observation = episode.toolbox.call(context, call)?;
            if let Some(seen) = &observation.outcome.evaluation {
                self.value(episode, seen)?;
                outcome.evaluations.push(seen.clone());
            }
            outcome.messages.push(observed(&call.id, &call.name, &observation));
            // A check of the rules alone is not counted: no pass ran, and a policy that checks first should not look worse.
            if observation.outcome.judged().is_some() {
                outcome.findings.extend(observation.outcome.findings);
            }
            outcome.checks.extend(observation.outcome.check);
        }
        episode.step += 1;
        episode.done = calls.is_empty() || episode.step >= self.options.steps;
        let reached = episode.best.as_ref().map(|(_, reward)| *reward).unwrap_or_default();
        outcome.interval = reached;
        // Differences of the best: their sum is the best reward, however often a policy breaks and repairs
        // its passes.
        outcome.reward = reached.value - before;
        if episode.done
            && self.options.remeasure
            && let Some((passes, _)) = &episode.best
        {
            let remeasured = evaluator.evaluate(&task, passes, EvaluationScope::AllRemeasured)?.outcome.reward;
            outcome.interval = remeasured;
            // Corrects the sum to the last measurement. The best of many noisy measurements would be too
            // high.
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
        // Held-out graphs cost device time, and cannot raise a reward that a visible graph has made 0.
        let reward = if episode.task.held_out.is_empty() || seen.reward.value == 0.0 {
            seen.reward
        } else {
            episode.evaluator.evaluate(&episode.task, &passes, EvaluationScope::All)?.outcome.reward
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
