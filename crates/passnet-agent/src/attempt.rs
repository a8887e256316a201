//! One attempt: a model works on a task with tools until it is done or a limit is reached.

mod reply_limits;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use passnet_eval::EvalError;
use passnet_record::{
    ContentId,
    agent::{
        AttemptEnd, AttemptExit, AttemptSetup, Finish, JournalEvent, JournalHeader, Message, Observation,
        TRAJECTORY_VERSION, TokenUsage, ToolCall, ToolSpec, Trajectory,
    },
};

use self::reply_limits::bounded;
use crate::{
    context_window,
    evaluator::{EvaluationScope, Evaluator},
    journal::{Journal, JournalError},
    machine_facts::machine_facts,
    model::{Completion, LanguageModel, ModelError, Request},
    prompt::Templates,
    task::Task,
    tools::{MAX_CALLS, ToolContext, Toolbox, specs},
    trajectory::{build_trajectory, conversation, observed},
};

/// Limits of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct AttemptLimits {
    /// Maximum number of replies.
    pub steps: u32,
    /// Maximum tokens, input and output; each request reads the whole conversation.
    pub tokens: Option<u64>,
    /// Maximum cost in US dollars, if prices are known.
    pub cost_usd: Option<f64>,
    /// Maximum time of the model and the tools together.
    pub time: Duration,
    /// Maximum steps without a better score, counted from the first evaluation.
    pub patience: Option<u32>,
    /// Size of the model's context, in tokens.
    pub context: u64,
    /// True if measurements do not decide when the attempt ends. Only if several states were right, so that a measurement selected one, its
    /// passes are measured again at the end. Attempts that end with equal passes share this measurement.
    pub fixed_plan: bool,
}

/// Error that interrupts an attempt. The journal has all events before the error.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    /// The journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal covers other graphs.
    #[error("the attempt started on graphs {before}, now it covers {now}; choose another directory")]
    OtherGraphs {
        /// Graphs in the journal.
        before: String,
        /// Graphs of the task.
        now: String,
    },
    /// A file cannot be written.
    #[error("cannot record the attempt: {0}")]
    Io(#[from] std::io::Error),
    /// The referee does not work.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The model gave no answer.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Task and conditions of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct AttemptPlan<'a> {
    /// Suite of the task.
    pub suite: &'a passnet_record::SuiteManifest,
    /// Task to solve.
    pub task: &'a Task,
    /// Number of the attempt at the task, from 0.
    pub attempt: u32,
    /// Seed of sampling.
    pub seed: u64,
    /// Limits.
    pub limits: AttemptLimits,
    /// Prompt templates.
    pub templates: &'a Templates,
}

/// Resources that an attempt has used.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    usage: TokenUsage,
    wall_ns: u64,
}

/// Number of consecutive replies without a tool call that ends an attempt.
const MAX_USELESS: u32 = 3;

/// A running attempt.
struct Attempt<'a> {
    plan: AttemptPlan<'a>,
    evaluator: &'a Evaluator,
    model: &'a dyn LanguageModel,
    stop: &'a AtomicBool,
    journal: Journal,
    tools: Vec<ToolSpec>,
    toolbox: Toolbox,
    messages: Vec<Message>,
    /// Calls of the last reply that have not been carried out.
    pending: Vec<ToolCall>,
    elided: usize,
    step: u32,
    useless: u32,
    evaluated: bool,
    improved_at: u32,
    /// States that were right on a graph.
    right: BTreeSet<ContentId>,
    spent: Spent,
}

/// Runs or resumes an attempt in its directory. Returns `None` if it was stopped before its end.
///
/// # Errors
/// Fails if the model, the referee or the disk fail; the next call resumes the attempt.
pub fn run_attempt(
    plan: AttemptPlan<'_>,
    evaluator: &Evaluator,
    model: &dyn LanguageModel,
    directory: &Path,
    stop: &AtomicBool,
    progress: &dyn Fn(&JournalEvent),
) -> Result<Option<Trajectory>, AttemptError> {
    let (journal, events) = Journal::open(directory)?;
    if let Some(JournalEvent::Started(header)) = events.first() {
        let (before, now) = (&header.setup.task, plan.task.facts());
        // The prompt and the scores in the journal are for the graphs with which the attempt began.
        if before.visible != now.visible {
            return Err(AttemptError::OtherGraphs { before: before.visible.join(", "), now: now.visible.join(", ") });
        }
    }
    // The task ended in an earlier start of the run, and its last measurement must not be made a second time.
    if let Some(finished) = build_trajectory(&events) {
        return Ok(Some(finished));
    }
    let mut attempt = Attempt {
        toolbox: Toolbox::default(),
        plan,
        evaluator,
        model,
        stop,
        journal,
        tools: specs(),
        messages: Vec::new(),
        pending: Vec::new(),
        elided: 0,
        step: 0,
        useless: 0,
        evaluated: false,
        improved_at: 0,
        right: BTreeSet::new(),
        spent: Spent::default(),
    };
    if events.is_empty() {
        let header = JournalEvent::Started(Box::new(attempt.header()));
        attempt.record(header, progress)?;
    }
    // Resuming is the same code as running, so that both reach the same state.
    events.iter().for_each(|event| attempt.apply(event));
    while !stop.load(Ordering::Relaxed) {
        if let Some(exit) = attempt.advance(progress)? {
            attempt.end(exit, progress)?;
            return Ok(build_trajectory(&Journal::read(directory)?));
        }
    }
    Ok(None)
}

impl Attempt<'_> {
    fn header(&self) -> JournalHeader {
        let AttemptPlan { suite, task, attempt, seed, limits, templates } = self.plan;
        let referee = self.evaluator.referee();
        let setup = AttemptSetup {
            suite: suite.name.clone(),
            suite_version: suite.version.clone(),
            split: suite.split,
            task: task.facts(),
            attempt,
            model: self.model.name().to_owned(),
            seed,
            settings: referee.settings().clone(),
            fingerprint: referee.fingerprint().clone(),
            tools: self.tools.clone(),
            started_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        };
        let machine = machine_facts(referee.settings(), referee.fingerprint());
        let messages = templates.begin(task, referee.settings().device, &machine, limits.steps);
        JournalHeader { schema_version: TRAJECTORY_VERSION, setup, steps: limits.steps, messages }
    }

    /// Records an event, then applies it.
    fn record(&mut self, event: JournalEvent, progress: &dyn Fn(&JournalEvent)) -> Result<(), AttemptError> {
        // Written before it is applied: after a crash in between, the next start reads the event and applies
        // it.
        self.journal.append(&event)?;
        self.apply(&event);
        progress(&event);
        Ok(())
    }

    /// Applies an event: the only way in which the state of an attempt changes.
    fn apply(&mut self, event: &JournalEvent) {
        match event {
            JournalEvent::Started(_) | JournalEvent::Said { .. } => {
                self.messages.extend(conversation(std::slice::from_ref(event)))
            }
            JournalEvent::Reply { step, reply, usage, latency_ns, elided, .. } => {
                self.step = *step;
                self.elided = *elided;
                self.spent.usage += *usage;
                self.spent.wall_ns += latency_ns;
                self.pending = reply.tool_calls.iter().take(MAX_CALLS).cloned().collect();
                // Only consecutive replies count: a call of any tool shows that the model works again.
                self.useless = if reply.tool_calls.is_empty() { self.useless + 1 } else { 0 };
                self.messages.push(Message::Assistant(reply.clone()));
            }
            JournalEvent::Observed { call_id, name, observation } => {
                // The order of the journal is the order of the calls, so the observation answers the first
                // call that is left.
                if !self.pending.is_empty() {
                    let call = self.pending.remove(0);
                    let before = self.toolbox.best().map(|best| best.score);
                    self.toolbox.replay(&call, observation);
                    if self.toolbox.best().map(|best| best.score) != before {
                        self.improved_at = self.step;
                    }
                }
                // A check without timing does not count: a model that has only checked is reminded to
                // evaluate.
                self.evaluated |= observation.outcome.evaluation.is_some();
                let right = observation.outcome.evaluation.iter().filter(|evaluation| evaluation.correct() > 0);
                self.right.extend(right.map(|evaluation| evaluation.passes.clone()));
                self.spent.wall_ns += observation.outcome.wall_ns;
                self.messages.push(observed(call_id, name, observation));
            }
            JournalEvent::Ended(_) => {}
        }
    }

    /// Carries out a pending call or asks the model. Returns the exit when nothing is left to do.
    fn advance(&mut self, progress: &dyn Fn(&JournalEvent)) -> Result<Option<AttemptExit>, AttemptError> {
        // Calls of the last reply come before any limit: servers refuse a conversation in which a call has no
        // answer.
        if let Some(call) = self.pending.first().cloned() {
            self.observe(&call, progress)?;
            return Ok(None);
        }
        if let Some(exit) = self.used_up() {
            return Ok(Some(exit));
        }
        if matches!(self.messages.last(), Some(Message::Assistant(_))) {
            // A model that has evaluated passes and calls no tool is done. A model that has not evaluated is reminded
            // once, because models often describe a call instead of making it.
            if self.evaluated || self.useless > 1 {
                return Ok(Some(if self.evaluated { AttemptExit::Done } else { AttemptExit::Useless }));
            }
            let content = self.plan.templates.nudge.clone();
            self.record(JournalEvent::Said { content }, progress)?;
            return Ok(None);
        }
        match self.ask() {
            Ok(completion) => {
                self.answer(completion, progress)?;
                Ok(None)
            }
            Err(ModelError::TooLong(why)) => {
                tracing::info!("{}: {why}", self.plan.task.id);
                let more = context_window::elision(&self.messages, self.elided, self.plan.limits.context, true);
                // Nothing more can be left out, so the same request would be refused again.
                let stuck = more <= self.elided;
                self.elided = more;
                Ok(stuck.then_some(AttemptExit::Context))
            }
            // Without a stop request, the model stopped because its time limit was reached.
            Err(ModelError::Stopped) if self.stop.load(Ordering::Relaxed) => Ok(None),
            Err(ModelError::Stopped) => Ok(Some(AttemptExit::Time)),
            Err(error) => Err(error.into()),
        }
    }

    fn used_up(&self) -> Option<AttemptExit> {
        let limits = &self.plan.limits;
        let usage = &self.spent.usage;
        let idle =
            // Before the first evaluation there is no score that could improve, so patience does not run.
            limits.patience.filter(|_| self.evaluated).is_some_and(|patience| self.step >= self.improved_at + patience);
        if self.step >= limits.steps {
            Some(AttemptExit::Steps)
        } else if limits.tokens.is_some_and(|most| usage.tokens() >= most) {
            Some(AttemptExit::Tokens)
        } else if limits.cost_usd.is_some_and(|most| usage.cost_usd.unwrap_or(0.0) >= most) {
            Some(AttemptExit::Cost)
        } else if self.time_left().is_zero() {
            Some(AttemptExit::Time)
        } else if self.useless >= MAX_USELESS {
            Some(AttemptExit::Useless)
        } else {
            idle.then_some(AttemptExit::NoProgress)
        }
    }

    fn time_left(&self) -> Duration {
        self.plan.limits.time.saturating_sub(Duration::from_nanos(self.spent.wall_ns))
    }

    fn ask(&mut self) -> Result<Completion, ModelError> {
        self.elided = context_window::elision(&self.messages, self.elided, self.plan.limits.context, false);
        let messages = context_window::as_sent(&self.messages, self.elided);
        self.model.complete(&Request {
            task: &self.plan.task.id,
            attempt: self.plan.attempt,
            messages: &messages,
            tools: &self.tools,
            seed: self.plan.seed,
            stop: self.stop,
            time_left: self.time_left(),
        })
    }

    fn answer(&mut self, completion: Completion, progress: &dyn Fn(&JournalEvent)) -> Result<(), AttemptError> {
        // The body is stored before the event that names it: after a crash in between, the event is missing
        // and the file is overwritten.
        let raw = if completion.raw.is_empty() { String::new() } else { self.journal.keep_raw(&completion.raw)? };
        let mut notes = completion.notes;
        let reply = bounded(completion.reply, &mut notes);
        let event = JournalEvent::Reply {
            step: self.step + 1,
            reply,
            finish: completion.finish,
            usage: completion.usage,
            latency_ns: completion.latency_ns,
            retries: completion.retries,
            elided: self.elided,
            raw,
            notes,
        };
        let cut_off = completion.finish == Finish::Length;
        self.record(event, progress)?;
        // Calls that survived the cut are carried out as usual; their results tell the model more than this
        // message.
        if cut_off && self.pending.is_empty() {
            let content =
                "Your reply was cut off at the limit of tokens. Write a shorter reply that calls a tool.".to_owned();
            self.record(JournalEvent::Said { content }, progress)?;
        }
        Ok(())
    }

    fn observe(&mut self, call: &ToolCall, progress: &dyn Fn(&JournalEvent)) -> Result<(), AttemptError> {
        let mut observation: Observation = {
            // The state changes when the event is applied, so the call works on a copy.
            let context = ToolContext { evaluator: self.evaluator, task: self.plan.task };
            self.toolbox.clone().call(context, call)?
        };
        // Only with the last observation of a reply, which the model reads next.
        if self.pending.len() == 1 {
            let left = self.plan.limits.steps.saturating_sub(self.step);
            observation.content.push_str(&format!("\n\n[steps remaining: {left}]"));
        }
        self.record(JournalEvent::Observed { call_id: call.id.clone(), name: call.name.clone(), observation }, progress)
    }

    /// Measures the best passes again, on all graphs, and closes the journal.
    fn end(&mut self, exit: AttemptExit, progress: &dyn Fn(&JournalEvent)) -> Result<(), AttemptError> {
        // Passes that are wrong everywhere score below an empty directory, so the task is better left without
        // passes.
        let best = self.toolbox.best().filter(|best| best.correct > 0).map(|best| best.passes.clone());
        let evaluation = match &best {
            Some(passes) => {
                let scope = match self.plan.limits.fixed_plan {
                    true if self.right.len() > 1 => EvaluationScope::AllSecond,
                    true => EvaluationScope::All,
                    false => EvaluationScope::AllRemeasured,
                };
                Some(self.evaluator.evaluate(self.plan.task, passes, scope)?.outcome)
            }
            None => None,
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let files = best.iter().flat_map(|passes| passes.files()).map(|(name, bytes)| (name.clone(), text(bytes)));
        let end = AttemptEnd { exit, passes: files.collect(), evaluation };
        self.record(JournalEvent::Ended(Box::new(end)), progress)
    }
}
