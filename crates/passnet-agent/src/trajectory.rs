//! Trajectories: finished attempts as records, the source of training data. `docs/reference/trajectories.md` describes the fields.

use passnet_record::{
    ContentId, Status,
    agent::{
        AttemptEnd, Conduct, JournalEvent, JournalHeader, Message, Observation, Reply, Step, TRAJECTORY_VERSION,
        TokenUsage, ToolRun, Trajectory, VerdictSummary,
    },
};

/// Builds the record from a journal; `None` if the attempt has not ended.
pub fn build_trajectory(events: &[JournalEvent]) -> Option<Trajectory> {
    let (JournalEvent::Started(header), JournalEvent::Ended(end)) = (events.first()?, events.last()?) else {
        return None;
    };
    Some(new_trajectory(header, events, end))
}

fn new_trajectory(header: &JournalHeader, events: &[JournalEvent], end: &AttemptEnd) -> Trajectory {
    let messages = conversation(events);
    let steps = steps(events);
    let mut usage = TokenUsage::default();
    steps.iter().for_each(|step| usage += step.usage);
    let mut findings: Vec<String> = steps.iter().flat_map(|step| &step.tools).flat_map(findings_of).collect();
    findings.sort_unstable();
    findings.dedup();
    let spent = |step: &Step| step.latency_ns + step.tools.iter().map(|tool| tool.outcome.wall_ns).sum::<u64>();
    let text = serde_json::to_vec(&messages).unwrap_or_default();
    let setup = header.setup.clone();
    // The id does not depend on times, so a trajectory has the same id when it is built again from its journal.
    let parts = [setup.task.id.as_bytes(), setup.model.as_bytes(), &setup.attempt.to_le_bytes(), &text];
    Trajectory {
        schema_version: TRAJECTORY_VERSION,
        id: ContentId::of_parts(parts),
        setup,
        steps_allowed: header.steps,
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
    }
}

/// Returns the best score up to each step; 1 before the first evaluation.
pub fn best_so_far(trajectory: &Trajectory) -> Vec<f64> {
    let mut best = 1.0_f64;
    let score = |step: &Step| {
        // A model may evaluate several times in one reply; the best state of all of them is kept.
        step.tools.iter().filter_map(|tool| tool.outcome.evaluation.as_ref()).map(|e| e.score).fold(0.0, f64::max)
    };
    trajectory
        .steps
        .iter()
        .map(|step| {
            best = best.max(score(step));
            best
        })
        .collect()
}

/// Returns whether the model kept to the integrity rules: on the way, and in the state that it ended with.
pub fn conduct_of(trajectory: &Trajectory) -> Conduct {
    if trajectory.findings.is_empty() {
        return Conduct::Clean;
    }
    let broken = |graphs: &[VerdictSummary]| graphs.iter().any(|graph| graph.status == Status::Integrity);
    let outcomes = trajectory.steps.iter().flat_map(|step| &step.tools).map(|tool| &tool.outcome);
    let mut states = outcomes.filter_map(|outcome| {
        let evaluated = outcome.evaluation.as_ref().map(|evaluation| evaluation.graphs.as_slice());
        evaluated.or(outcome.check.as_ref().map(|check| check.graphs.as_slice()))
    });
    // Uses the last state that was evaluated or checked, because later edits were never judged.
    let ends_clean = states.next_back().is_some_and(|graphs| !broken(graphs));
    let kept_clean = trajectory.evaluation.as_ref().is_some_and(|evaluation| !evaluation.is_cheating());
    if ends_clean && kept_clean { Conduct::Corrected } else { Conduct::Broken }
}

/// Returns the codes of integrity verdicts of a call.
fn findings_of(tool: &ToolRun) -> Vec<String> {
    let evaluated = tool.outcome.evaluation.iter().flat_map(|evaluation| &evaluation.graphs);
    let graphs = evaluated.chain(tool.outcome.check.iter().flat_map(|check| &check.graphs));
    let codes = graphs.filter(|graph| graph.status == Status::Integrity).map(|graph| graph.code.clone());
    // Lint findings are not used: a syntax error is one, but breaks no rule.
    codes.collect()
}

/// Returns the conversation of a journal.
pub(crate) fn conversation(events: &[JournalEvent]) -> Vec<Message> {
    let mut messages = Vec::new();
    for event in events {
        match event {
            JournalEvent::Started(header) => messages.extend(header.messages.iter().cloned()),
            JournalEvent::Reply { reply, .. } => messages.push(Message::Assistant(reply.clone())),
            JournalEvent::Observed { call_id, name, observation } => {
                messages.push(observed(call_id, name, observation));
            }
            JournalEvent::Said { content } => messages.push(Message::User { content: content.clone() }),
            JournalEvent::Ended(_) => {}
        }
    }
    messages
}

/// Returns an observation as a message.
pub(crate) fn observed(call_id: &str, name: &str, observation: &Observation) -> Message {
    Message::Tool { call_id: call_id.to_owned(), name: name.to_owned(), content: observation.content.clone() }
}

fn steps(events: &[JournalEvent]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for event in events {
        match event {
            JournalEvent::Reply { step, finish, usage, latency_ns, retries, .. } => steps.push(Step {
                step: *step,
                finish: *finish,
                usage: *usage,
                latency_ns: *latency_ns,
                retries: *retries,
                tools: Vec::new(),
            }),
            JournalEvent::Observed { call_id, name, observation } => {
                if let Some(step) = steps.last_mut() {
                    let (call_id, name, outcome) = (call_id.clone(), name.clone(), observation.outcome.clone());
                    step.tools.push(ToolRun { call_id, name, outcome });
                }
            }
            JournalEvent::Started(_) | JournalEvent::Said { .. } | JournalEvent::Ended(_) => {}
        }
    }
    steps
}

/// Returns the replies of a conversation, in order.
pub(crate) fn replies(messages: &[Message]) -> impl Iterator<Item = &Reply> {
    messages.iter().filter_map(|message| match message {
        Message::Assistant(reply) => Some(reply),
        _ => None,
    })
}
