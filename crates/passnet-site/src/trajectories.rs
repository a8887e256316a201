//! Trajectories as views.

use std::path::PathBuf;

use passnet_agent::corpus;
use passnet_record::agent::{Message, Trajectory};
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
    corpus::read(paths)?.take(MAX).map(|trajectory| Ok(view(&trajectory?)?)).collect()
}

fn view(trajectory: &Trajectory) -> serde_json::Result<TrajectoryView> {
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
    if let Value::Object(usage) = serde_json::to_value(trajectory.usage)? {
        facts.extend(usage.iter().map(|(name, value)| (name.replace('_', " "), value.to_string())));
    }
    if !trajectory.findings.is_empty() {
        facts.push(("broken rules".to_owned(), trajectory.findings.join(", ")));
    }
    Ok(TrajectoryView {
        name: format!("{} {} {}", trajectory.setup.model, trajectory.setup.task.id, trajectory.setup.attempt),
        turns,
        scores: scores.collect(),
        outcome: trajectory.exit.name().to_owned(),
        facts,
        task: trajectory.setup.task.id.clone(),
        model: trajectory.setup.model.clone(),
    })
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
