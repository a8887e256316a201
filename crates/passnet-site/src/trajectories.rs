//! Trajectories as views.

use std::path::PathBuf;

use passnet_agent::corpus;
use passnet_record::agent::{Message, TokenUsage, Trajectory};
use passnet_web::{TrajectoryView, Turn};
use serde_json::Value;

use crate::SiteError;

/// Trajectories that are shown.
const MAX: usize = 5000;

/// Reads JSONL files and folders, as `passnet traj` does.
///
/// # Errors
/// If a file cannot be read or a line is not a trajectory.
pub(crate) fn trajectories(paths: &[PathBuf]) -> Result<Vec<TrajectoryView>, SiteError> {
    corpus::read(paths)?.take(MAX).map(|trajectory| Ok(view(&trajectory?))).collect()
}

fn view(trajectory: &Trajectory) -> TrajectoryView {
    let mut step = 0;
    let turns = trajectory.messages.iter().map(|message| {
        let mut calls = Vec::new();
        // Each reply of the model begins a step.
        if let Message::Assistant(reply) = message {
            step += 1;
            calls.extend(reply.tool_calls.iter().map(|call| (call.name.clone(), arguments(&call.arguments))));
        }
        Turn { step, role: message.role().to_owned(), text: message.content().to_owned(), calls }
    });
    let turns = turns.collect();
    let scores = trajectory.evaluations().map(|(step, evaluation)| (step as usize, evaluation.score));
    let ended = ("ended".to_owned(), trajectory.exit.name().to_owned());
    let mut facts = vec![ended, ("final score".to_owned(), format!("{:.3}", trajectory.score))];
    facts.extend(usage(&trajectory.usage));
    if !trajectory.findings.is_empty() {
        facts.push(("broken rules".to_owned(), trajectory.findings.join(", ")));
    }
    TrajectoryView {
        name: format!("{} {} {}", trajectory.setup.model, trajectory.setup.task.id, trajectory.setup.attempt),
        turns,
        scores: scores.collect(),
        outcome: trajectory.exit.name().to_owned(),
        facts,
        task: trajectory.setup.task.id.clone(),
        model: trajectory.setup.model.clone(),
    }
}

/// Tokens and cost; counts that are 0 because the server has no cache are left out.
fn usage(usage: &TokenUsage) -> Vec<(String, String)> {
    let about = if usage.estimated { "about " } else { "" };
    let counts = [
        ("input tokens", Some(usage.input)),
        ("of these from a cache", Some(usage.cached).filter(|&count| count > 0)),
        ("written to a cache", Some(usage.cache_written).filter(|&count| count > 0)),
        ("output tokens", Some(usage.output)),
    ];
    let counts = counts.into_iter().filter_map(|(name, count)| Some((name.to_owned(), format!("{about}{}", count?))));
    counts.chain(usage.cost_usd.map(|cost| ("cost".to_owned(), format!("${cost:.3}")))).collect()
}

/// Arguments in readable form: one after the other, each text on separate lines.
fn arguments(value: &Value) -> String {
    let Value::Object(fields) = value else { return value.to_string() };
    let field = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}:\n{text}"),
        other => format!("{name}: {other}"),
    };
    fields.iter().map(field).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_names_tokens_and_leaves_out_what_did_not_happen() {
        let plain = TokenUsage { input: 5098, output: 54, ..TokenUsage::default() };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(usage(&plain), [pair("input tokens", "5098"), pair("output tokens", "54")]);
        let full = TokenUsage { cached: 7, cache_written: 8, estimated: true, cost_usd: Some(0.25), ..plain };
        let names: Vec<String> = usage(&full).into_iter().map(|(name, value)| format!("{name} {value}")).collect();
        assert_eq!(
            names.join(", "),
            "input tokens about 5098, of these from a cache about 7, written to a cache about 8, output tokens about 54, cost $0.250"
        );
    }
}
