//! The positive control: a harness that judges in the process of the candidate, as public harnesses do.

use std::{collections::BTreeMap, io::Write as _, path::Path, process::Stdio};

use fs_err as fs;
use passnet_record::{
    GraphId, SCHEMA_VERSION,
    attack::{AttackGoal, NaiveControl, NaiveJob},
};
use passnet_run::Suite;
use passnet_services::Interpreter;

use crate::{AttackError, bait::Bait, entry::AttackEntry};

/// Runs the attacks that PassNet stops by construction in the naive harness. Returns whether each reaches its goal.
pub(crate) fn run(
    directory: &Path,
    entries: &[AttackEntry],
    suite: &Suite,
    gpu: bool,
) -> Result<BTreeMap<String, bool>, AttackError> {
    let controls: Vec<&AttackEntry> =
        entries.iter().filter(|entry| entry.meta.by_construction && entry.runs_on(gpu)).collect();
    if controls.is_empty() {
        return Ok(BTreeMap::new());
    }
    let work = tempfile::tempdir()?;
    let mut baits = BTreeMap::new();
    let mut jobs = Vec::new();
    for entry in &controls {
        let task = entry.task(&suite.record)?;
        let sample = suite.sample_dir(&GraphId { task: task.id.clone(), graph: task.graphs[0].clone() });
        let bait = Bait::new(&sample)?;
        let passes = work.path().join(&entry.name);
        for (name, bytes) in &entry.files {
            let path = passes.join(name);
            fs::create_dir_all(path.parent().unwrap_or(&passes))?;
            fs::write(path, bait.fill_in(bytes))?;
        }
        jobs.push(NaiveJob {
            schema_version: SCHEMA_VERSION,
            name: entry.name.clone(),
            passes: passes.display().to_string(),
            task: bait.path("task").display().to_string(),
            device: if gpu { "cuda" } else { "cpu" }.to_owned(),
            compiled: entry.meta.naive_compiled,
        });
        baits.insert(entry.name.clone(), bait);
    }
    let results = run_harness(&directory.join("naive/harness.py"), &jobs)?;
    let reached = controls.iter().map(|entry| {
        let (bait, result) = (&baits[&entry.name], results.iter().find(|result| result.name == entry.name));
        let reached = match &entry.meta.goal {
            AttackGoal::Correct => result.is_some_and(|result| result.correct),
            AttackGoal::Speedup { above } => result.is_some_and(|result| result.correct && result.speedup > *above),
            AttackGoal::File { path } => bait.is_marked(path),
            AttackGoal::Alive => bait.has_survivor(),
            AttackGoal::Leak => false,
        };
        (entry.name.clone(), reached)
    });
    Ok(reached.collect())
}

fn run_harness(harness: &Path, jobs: &[NaiveJob]) -> Result<Vec<NaiveControl>, AttackError> {
    let failed = |message: String| AttackError::Harness { harness: harness.to_owned(), message };
    let interpreter = Interpreter::find();
    let started = interpreter.script(harness).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| failed(format!("{}: {error}", interpreter.python.display())))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&serde_json::to_vec(jobs).map_err(|error| failed(error.to_string()))?)?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(failed(format!("it ended with {}", output.status)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(format!("it did not report: {error}")))
}
