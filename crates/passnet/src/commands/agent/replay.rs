//! `passnet agent replay`: the tool calls of trajectories, carried out again.

use std::process::ExitCode;

use anyhow::{Context, Result};
use passnet_agent::{Evaluator, Replayed, SCHEMA_VERSION, Task, VerdictCache, corpus, replay};
use passnet_dataset::open_suite;
use passnet_run::Selection;
use serde::Serialize;

use crate::{
    args::ReplayArgs,
    commands::referee,
    failure::{BAD, usage},
    output::{self, Rows},
};

#[derive(Serialize)]
struct Comparison {
    id: String,
    task: String,
    attempt: u32,
    calls: Vec<Replayed>,
}

#[derive(Serialize)]
struct Report {
    schema_version: u32,
    trajectories: Vec<Comparison>,
}

/// Replays and compares. Leaves with 1 where a verdict differs.
pub(super) fn run(args: &ReplayArgs) -> Result<ExitCode> {
    let suite = open_suite(&args.suite, &Selection::default())?;
    let evaluator =
        Evaluator::new(referee::start(&args.measure, None)?, VerdictCache::default()).with_cpu_precheck()?;
    let wanted =
        |id: &str, task: &str| args.only.as_deref().is_none_or(|only| id.starts_with(only) || task.starts_with(only));
    let mut trajectories = Vec::new();
    for trajectory in corpus::read(std::slice::from_ref(&args.trajectories))? {
        let trajectory = trajectory?;
        if !wanted(trajectory.id.as_str(), &trajectory.setup.task.id) {
            continue;
        }
        let record = suite.record.tasks.iter().find(|task| task.id == trajectory.setup.task.id);
        let record = record.with_context(|| format!("the suite has no task `{}`", trajectory.setup.task.id))?;
        // The run may have been about a part of the graphs.
        let mut record = record.clone();
        record.graphs.retain(|graph| trajectory.setup.task.visible.contains(graph));
        let task = Task::read(&suite, &record)?;
        trajectories.push(Comparison {
            id: trajectory.id.short().to_owned(),
            task: trajectory.setup.task.id.clone(),
            attempt: trajectory.setup.attempt,
            calls: replay(&evaluator, &task, &trajectory)?,
        });
    }
    if trajectories.is_empty() {
        return Err(usage("no trajectory fits"));
    }
    let same = trajectories.iter().flat_map(|comparison| &comparison.calls).all(|call| call.same);
    if args.json {
        output::json(&Report { schema_version: SCHEMA_VERSION, trajectories })?;
    } else {
        print(&trajectories)?;
    }
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::from(BAD) })
}

fn print(trajectories: &[Comparison]) -> Result<()> {
    let mut rows = Rows::new(&["task", "step", "tool", "then", "now", "same"], 6);
    for comparison in trajectories {
        for call in comparison.calls.iter().filter(|call| call.tool == "pass_evaluator" || !call.same) {
            let same = if call.same { "yes" } else { "no" };
            let row = [&comparison.task, &call.step.to_string(), &call.tool, &call.before, &call.now, same]
                .map(str::to_owned);
            rows.push(row);
        }
    }
    rows.print()?;
    let calls = || trajectories.iter().flat_map(|comparison| &comparison.calls);
    let (all, same) = (calls().count(), calls().filter(|call| call.same).count());
    let slower = calls().map(|call| call.speed_differs).sum::<usize>();
    output::text(&format!(
        "{same} of {all} calls as before; speed-ups of {slower} graphs differ beyond their intervals"
    ))
}
