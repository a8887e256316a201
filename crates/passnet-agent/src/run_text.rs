//! Attempts as tables and log lines for people.

use std::collections::BTreeMap;

use passnet_record::{
    TextReport, TextTable,
    agent::{JournalEvent, Trajectory},
    counted,
};

use crate::{replay::ReplayedTrajectory, run::Update};

/// Returns one line per task: its best attempt, and the totals of all.
pub fn task_table(trajectories: &[Trajectory]) -> TextTable {
    let mut tasks: BTreeMap<&str, Vec<&Trajectory>> = BTreeMap::new();
    for trajectory in trajectories {
        tasks.entry(&trajectory.setup.task.id).or_default().push(trajectory);
    }
    let titles = ["task", "ended", "attempts", "correct", "score", "reward", "steps", "tokens", "rules broken"];
    let mut rows = TextTable::new(&titles, 2);
    for (task, attempts) in tasks {
        let Some(best) = attempts.iter().copied().max_by(|a, b| a.score.total_cmp(&b.score)) else { continue };
        let (correct, graphs) = best.correct();
        rows.push([
            task.to_owned(),
            best.exit.name().to_owned(),
            attempts.len().to_string(),
            format!("{correct}/{graphs}"),
            format!("{:.3}", best.score),
            format!("{:.3}", best.reward.value),
            best.steps.len().to_string(),
            attempts.iter().map(|attempt| attempt.usage.tokens()).sum::<u64>().to_string(),
            attempts.iter().filter(|attempt| !attempt.findings.is_empty()).count().to_string(),
        ]);
    }
    rows
}

/// Returns the evaluations and the calls that differ, and how many of all calls are the same.
pub fn replay_report(trajectories: &[ReplayedTrajectory]) -> TextReport {
    let mut rows = TextTable::new(&["task", "step", "tool", "then", "now", "same"], 6);
    for comparison in trajectories {
        // Edits that went as before would hide the few lines that matter.
        for call in comparison.calls.iter().filter(|call| call.tool == "pass_evaluator" || !call.same) {
            let same = if call.same { "yes" } else { "no" };
            let row = [&comparison.task, &call.step.to_string(), &call.tool, &call.before, &call.now, same]
                .map(str::to_owned);
            rows.push(row);
        }
    }
    let calls = || trajectories.iter().flat_map(|comparison| &comparison.calls);
    let (all, same) = (calls().count(), calls().filter(|call| call.same).count());
    let slower = calls().map(|call| call.speed_differs).sum::<usize>();
    let mut report = TextReport::default();
    report.table(rows);
    let (all, slower) = (counted(all, "call"), counted(slower, "graph"));
    report.text(format!("{same} of {all} as before; speed-ups that differ beyond their intervals: {slower}"));
    report
}

impl Update<'_> {
    /// Writes the update to the log: replies and ends as information, observations for debugging.
    pub fn log(&self) {
        match self {
            Self::Event { task, event: JournalEvent::Reply { step, reply, usage, retries, .. } } => {
                let calls: Vec<&str> = reply.tool_calls.iter().map(|call| call.name.as_str()).collect();
                let (calls, tokens) = (calls.join(", "), usage.tokens());
                tracing::info!(
                    "{task}: step {step}: {calls} ({}, {})",
                    counted(tokens as usize, "token"),
                    counted(*retries as usize, "retry")
                );
            }
            Self::Event { task, event: JournalEvent::Observed { name, observation, .. } } => {
                tracing::debug!("{task}: {name}: {}", observation.content);
            }
            Self::Event { .. } => {}
            Self::Ended(trajectory) => {
                let task = &trajectory.setup.task.id;
                tracing::info!("{task}: ended ({:?}), score {:.3}", trajectory.exit, trajectory.score);
            }
            Self::Suspended(suspended) => tracing::warn!("{}: {}", suspended.task, suspended.why),
        }
    }
}
