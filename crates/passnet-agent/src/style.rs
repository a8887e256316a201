//! Styles of trajectories: how an attempt got to right passes, by its verdicts.

use passnet_record::{
    ContentId, Status,
    agent::{Conduct, Message, Style, ToolCall, ToolRun, Trajectory, VerdictSummary},
};
use serde_json::Value;

use crate::trajectory::conduct_of;

/// A state that was judged: its passes, and the verdicts.
type Judged<'a> = (&'a ContentId, &'a [VerdictSummary]);

/// Returns the style of an attempt; `None` if its final passes are not right on every graph, if it ended with a wrong state, or
/// if it broke a rule and did not correct that.
pub fn style_of(trajectory: &Trajectory) -> Option<Style> {
    let end = trajectory.evaluation.as_ref()?;
    if !are_right(&end.graphs) || !ends_right(trajectory) {
        return None;
    }
    match conduct_of(trajectory) {
        Conduct::Broken => return None,
        Conduct::Corrected => return Some(Style::Refused),
        Conduct::Clean => {}
    }
    let states: Vec<Judged<'_>> = calls(trajectory).filter_map(|(_, _, tool)| tool.outcome.judged()).collect();
    if states.iter().any(|(_, graphs)| !are_right(graphs)) {
        return Some(Style::Repaired);
    }
    // The measurement on the way: earlier states were measured next to it.
    let last = states.iter().rev().find(|(passes, graphs)| **passes == end.passes && is_measured(graphs));
    let gained = last.is_some_and(|(_, last)| states.iter().any(|(_, graphs)| is_faster(last, graphs)));
    Some(if gained { Style::Tuned } else { Style::Plain })
}

/// Returns whether the last state that was judged was right, or the model went back from it to the best one.
fn ends_right(trajectory: &Trajectory) -> bool {
    let states = calls(trajectory).filter_map(|(_, call, tool)| {
        let judged = tool.outcome.judged().map(|(_, graphs)| are_right(graphs));
        judged.or((restores(call) && tool.outcome.ok).then_some(true))
    });
    states.last().unwrap_or(false)
}

/// Returns for each message whether a model should learn it. It should learn replies, except those with a call that failed,
/// with an edit that made a state wrong or against the rules, and with an edit that was never judged.
pub fn learnt_messages(trajectory: &Trajectory) -> Vec<bool> {
    let mut learnt: Vec<bool> =
        trajectory.messages.iter().map(|message| matches!(message, Message::Assistant(_))).collect();
    // Messages with edits that no verdict covers yet.
    let mut unjudged: Vec<usize> = Vec::new();
    for (index, call, tool) in calls(trajectory) {
        let outcome = &tool.outcome;
        let judged = outcome.judged().map(|(_, graphs)| are_right(graphs));
        // Rules may be checked without running anything.
        let is_wrong = judged == Some(false) || judged.is_none() && !outcome.findings.is_empty();
        if is_wrong || restores(call) {
            unjudged.drain(..).for_each(|index| learnt[index] = false);
        } else if judged == Some(true) {
            unjudged.clear();
        } else if edits(call) {
            unjudged.push(index);
        }
        // A failed evaluation or profile is the fault of the passes, not of the call.
        if !outcome.ok && !is_wrong && judged.is_none() && call.name != "profile" {
            learnt[index] = false;
        }
    }
    unjudged.into_iter().for_each(|index| learnt[index] = false);
    learnt
}

/// Returns the calls that were carried out, each with the index of its message.
fn calls(trajectory: &Trajectory) -> impl Iterator<Item = (usize, &ToolCall, &ToolRun)> {
    let replies = trajectory.messages.iter().enumerate().filter_map(|(index, message)| match message {
        Message::Assistant(reply) => Some((index, reply)),
        _ => None,
    });
    replies.zip(&trajectory.steps).flat_map(|((index, reply), step)| {
        reply.tool_calls.iter().zip(&step.tools).map(move |(call, tool)| (index, call, tool))
    })
}
fn command(call: &ToolCall) -> &str {
    call.arguments.get("command").and_then(Value::as_str).unwrap_or_default()
}

/// Returns whether a call changes files of the pass directory, if it succeeds.
fn edits(call: &ToolCall) -> bool {
    call.name == "file_editor" && command(call) != "view"
}

/// Returns whether a call restores the best state, if it succeeds.
fn restores(call: &ToolCall) -> bool {
    call.name == "best_state" && command(call) == "restore"
}

fn are_right(graphs: &[VerdictSummary]) -> bool {
    !graphs.is_empty() && graphs.iter().all(|graph| matches!(graph.status, Status::Correct | Status::Unstable))
}

fn is_measured(graphs: &[VerdictSummary]) -> bool {
    graphs.iter().any(|graph| graph.speedup.is_some())
}

/// Returns whether passes are measurably faster than others on a graph, and measurably slower on none.
fn is_faster(passes: &[VerdictSummary], others: &[VerdictSummary]) -> bool {
    let pairs = || {
        passes.iter().filter_map(|graph| {
            let other = others.iter().find(|other| other.graph == graph.graph)?;
            Some((graph.speedup.as_ref()?, other.speedup.as_ref()?))
        })
    };
    pairs().any(|(one, other)| one.low > other.high) && pairs().all(|(one, other)| one.high >= other.low)
}
