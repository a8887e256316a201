//! A finished attempt as one record: what training data is made of. `docs/trajectories.md` describes the fields.

use std::collections::BTreeMap;

use passnet_record::{ContentId, Fingerprint, RunSettings, Status};
use serde::{Deserialize, Serialize};

use crate::{
    journal::{End, Event, Exit, Header, SCHEMA_VERSION},
    judgement::{Check, Judgement, Reward},
    message::{Message, Reply, ToolSpec},
    model::{Finish, Usage},
    task::TaskFacts,
    tools::Observation,
};

/// A tool call that was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolRun {
    /// The call, as in the messages.
    pub call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Whether it did what was asked.
    pub ok: bool,
    /// How long it took.
    pub wall_ns: u64,
    /// What an evaluation found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Judgement>,
    /// What checks without timing found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// Integrity rules that were broken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// One reply of the model with what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// From 1.
    pub step: u32,
    /// Why the model stopped.
    pub finish: Finish,
    /// Tokens and money.
    pub usage: Usage,
    /// From request to answer.
    pub latency_ns: u64,
    /// Requests that failed before.
    pub retries: u32,
    /// Tool calls in order.
    pub tools: Vec<ToolRun>,
}

/// One attempt at one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// Version of the schema.
    pub schema_version: u32,
    /// Content hash of task, model, attempt and messages.
    pub id: ContentId,
    /// Name of the suite.
    pub suite: String,
    /// Version of the suite.
    pub suite_version: String,
    /// Split of the suite.
    pub split: String,
    /// The task.
    pub task: TaskFacts,
    /// Which attempt at the task, from 0.
    pub attempt: u32,
    /// Who answered.
    pub model: String,
    /// Steps that were allowed.
    pub steps_allowed: u32,
    /// Seed of sampling.
    pub seed: u64,
    /// How the referee measured.
    pub settings: RunSettings,
    /// Where, and with which versions.
    pub fingerprint: Fingerprint,
    /// Tools that the model was told of.
    pub tools: Vec<ToolSpec>,
    /// The whole conversation.
    pub messages: Vec<Message>,
    /// The steps.
    pub steps: Vec<Step>,
    /// Why it ended.
    pub exit: Exit,
    /// Files of the best passes.
    pub passes: BTreeMap<String, String>,
    /// The best passes, measured anew on all graphs.
    pub evaluation: Option<Judgement>,
    /// Score of that; 1, doing nothing, where there are no passes.
    pub score: f64,
    /// Reward of that.
    pub reward: Reward,
    /// Integrity rules that were broken on the way, sorted: the label of an attempt to cheat.
    pub findings: Vec<String>,
    /// Tokens and money in all.
    pub usage: Usage,
    /// Time of the model and of the tools.
    pub wall_ns: u64,
    /// When it began, seconds since 1970, UTC.
    pub started_s: u64,
}

impl Trajectory {
    /// The record of a journal; `None` where the attempt has not ended.
    pub fn of(events: &[Event]) -> Option<Self> {
        let (Event::Started(header), Event::Ended(end)) = (events.first()?, events.last()?) else { return None };
        Some(Self::new(header, events, end))
    }

    fn new(header: &Header, events: &[Event], end: &End) -> Self {
        let messages = conversation(events);
        let steps = steps(events);
        let mut usage = Usage::default();
        steps.iter().for_each(|step| usage += step.usage);
        let mut findings: Vec<String> = steps.iter().flat_map(|step| &step.tools).flat_map(findings_of).collect();
        findings.sort_unstable();
        findings.dedup();
        let spent = |step: &Step| step.latency_ns + step.tools.iter().map(|tool| tool.wall_ns).sum::<u64>();
        let text = serde_json::to_vec(&messages).unwrap_or_default();
        let parts = [header.task.id.as_bytes(), header.model.as_bytes(), &header.attempt.to_le_bytes(), &text];
        Self {
            schema_version: SCHEMA_VERSION,
            id: ContentId::of_parts(parts),
            suite: header.suite.clone(),
            suite_version: header.suite_version.clone(),
            split: header.split.clone(),
            task: header.task.clone(),
            attempt: header.attempt,
            model: header.model.clone(),
            steps_allowed: header.steps,
            seed: header.seed,
            settings: header.settings.clone(),
            fingerprint: header.fingerprint.clone(),
            tools: header.tools.clone(),
            messages,
            wall_ns: steps.iter().map(spent).sum(),
            steps,
            exit: end.exit,
            passes: end.passes.clone(),
            score: end.evaluation.as_ref().map_or(1.0, |evaluation| evaluation.score),
            reward: end.evaluation.as_ref().map(|evaluation| evaluation.reward).unwrap_or_default(),
            evaluation: end.evaluation.clone(),
            findings,
            usage,
            started_s: header.started_s,
        }
    }

    /// All evaluations on the way, with their steps.
    pub fn evaluations(&self) -> impl Iterator<Item = (u32, &Judgement)> {
        self.steps
            .iter()
            .flat_map(|step| step.tools.iter().filter_map(|tool| Some((step.step, tool.evaluation.as_ref()?))))
    }

    /// Best score up to each step; 1 before anything was evaluated.
    pub fn best_so_far(&self) -> Vec<f64> {
        let mut best = 1.0_f64;
        let score = |step: &Step| {
            step.tools.iter().filter_map(|tool| tool.evaluation.as_ref()).map(|e| e.score).fold(0.0, f64::max)
        };
        self.steps
            .iter()
            .map(|step| {
                best = best.max(score(step));
                best
            })
            .collect()
    }

    /// Correct and total graphs of the last word.
    pub fn correct(&self) -> (usize, usize) {
        self.evaluation.as_ref().map_or((0, self.task.visible.len() + self.task.held_out), |evaluation| {
            (evaluation.correct(), evaluation.graphs.len())
        })
    }
}

/// Rules by the lint, and codes of integrity verdicts.
fn findings_of(tool: &ToolRun) -> Vec<String> {
    let evaluated = tool.evaluation.iter().flat_map(|evaluation| &evaluation.graphs);
    let graphs = evaluated.chain(tool.check.iter().flat_map(|check| &check.graphs));
    let codes = graphs.filter(|graph| graph.status == Status::Integrity).map(|graph| graph.code.clone());
    // A mistake of syntax is a finding of the lint, but no breach.
    codes.collect()
}

/// The conversation of a journal.
pub(crate) fn conversation(events: &[Event]) -> Vec<Message> {
    let mut messages = Vec::new();
    for event in events {
        match event {
            Event::Started(header) => messages.extend(header.messages.iter().cloned()),
            Event::Reply { reply, .. } => messages.push(Message::Assistant(reply.clone())),
            Event::Observed { call_id, name, observation } => {
                messages.push(observed(call_id, name, observation));
            }
            Event::Said { content } => messages.push(Message::User { content: content.clone() }),
            Event::Ended(_) => {}
        }
    }
    messages
}

/// An observation as a message.
pub(crate) fn observed(call_id: &str, name: &str, observation: &Observation) -> Message {
    Message::Tool { call_id: call_id.to_owned(), name: name.to_owned(), content: observation.content.clone() }
}

fn steps(events: &[Event]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for event in events {
        match event {
            Event::Reply { step, finish, usage, latency_ns, retries, .. } => steps.push(Step {
                step: *step,
                finish: *finish,
                usage: *usage,
                latency_ns: *latency_ns,
                retries: *retries,
                tools: Vec::new(),
            }),
            Event::Observed { call_id, name, observation } => {
                if let Some(step) = steps.last_mut() {
                    step.tools.push(ToolRun {
                        call_id: call_id.clone(),
                        name: name.clone(),
                        ok: observation.ok,
                        wall_ns: observation.wall_ns,
                        evaluation: observation.evaluation.clone(),
                        check: observation.check.clone(),
                        findings: observation.findings.clone(),
                    });
                }
            }
            Event::Started(_) | Event::Said { .. } | Event::Ended(_) => {}
        }
    }
    steps
}

/// The replies of a conversation, in order.
pub(crate) fn replies(messages: &[Message]) -> impl Iterator<Item = &Reply> {
    messages.iter().filter_map(|message| match message {
        Message::Assistant(reply) => Some(reply),
        _ => None,
    })
}
