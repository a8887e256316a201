//! Trajectories as views. Only the fields that a page shows are read (docs/trajectories.md describes them all).

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use fs_err as fs;
use passnet_web::{TrajectoryView, Turn};
use serde::Deserialize;
use serde_json::Value;

/// Trajectories that are read.
const MAX: usize = 5000;

#[derive(Deserialize)]
struct Trajectory {
    task: Task,
    #[serde(default)]
    attempt: u32,
    model: String,
    messages: Vec<Message>,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    exit: Value,
    score: Option<f64>,
    #[serde(default)]
    findings: Vec<String>,
    #[serde(default)]
    usage: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct Task {
    id: String,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct Step {
    step: usize,
    #[serde(default)]
    tools: Vec<ToolRun>,
}

#[derive(Deserialize)]
struct ToolRun {
    evaluation: Option<Evaluation>,
}

#[derive(Deserialize)]
struct Evaluation {
    score: f64,
}

/// Reads JSONL files, or all of them in folders.
///
/// # Errors
/// Where a file cannot be read or a line is no trajectory.
pub(crate) fn trajectories(paths: &[PathBuf]) -> Result<Vec<TrajectoryView>> {
    let mut views = Vec::new();
    for path in paths {
        let mut files = vec![path.clone()];
        if path.is_dir() {
            let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
            files = entries.into_iter().filter(|file| file.extension().is_some_and(|kind| kind == "jsonl")).collect();
            files.sort();
        }
        for file in files {
            read_file(&file, &mut views)?;
        }
    }
    Ok(views)
}

fn read_file(file: &Path, views: &mut Vec<TrajectoryView>) -> Result<()> {
    for (index, line) in BufReader::new(fs::File::open(file)?).lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() || views.len() == MAX {
            continue;
        }
        let trajectory: Trajectory = serde_json::from_str(&line)
            .with_context(|| format!("{}:{}: not a trajectory", file.display(), index + 1))?;
        views.push(view(trajectory));
    }
    Ok(())
}

fn view(trajectory: Trajectory) -> TrajectoryView {
    let mut step = 0;
    let turns = trajectory.messages.into_iter().map(|message| {
        // Each reply of the model begins a step.
        step += usize::from(message.role == "assistant");
        Turn {
            step,
            role: message.role,
            text: message.content,
            calls: message.tool_calls.into_iter().map(|call| (call.name, arguments(&call.arguments))).collect(),
        }
    });
    let scores = trajectory
        .steps
        .iter()
        .flat_map(|step| step.tools.iter().filter_map(|tool| Some((step.step, tool.evaluation.as_ref()?.score))));
    let mut facts = vec![("ended".to_owned(), trajectory.exit.as_str().unwrap_or("–").to_owned())];
    facts.extend(trajectory.score.map(|score| ("final score".to_owned(), format!("{score:.3}"))));
    facts.extend(trajectory.usage.iter().map(|(name, value)| (name.replace('_', " "), value.to_string())));
    if !trajectory.findings.is_empty() {
        facts.push(("broken rules".to_owned(), trajectory.findings.join(", ")));
    }
    TrajectoryView {
        name: format!("{} {} {}", trajectory.model, trajectory.task.id, trajectory.attempt),
        turns: turns.collect(),
        scores: scores.collect(),
        facts,
        task: trajectory.task.id,
        model: trajectory.model,
    }
}

/// Arguments as they read best: texts as they are, the rest as JSON.
fn arguments(value: &Value) -> String {
    let Value::Object(fields) = value else { return value.to_string() };
    let field = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}:\n{text}"),
        other => format!("{name}: {other}"),
    };
    fields.iter().map(field).collect::<Vec<_>>().join("\n")
}
