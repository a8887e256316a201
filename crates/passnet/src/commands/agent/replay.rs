//! `passnet agent replay`: the tool calls of trajectories, carried out again.

use std::process::ExitCode;

use anyhow::Result;
use passnet_agent::{Evaluator, ReplayedTrajectory, SCHEMA_VERSION, VerdictCache, corpus, replay_trajectory};
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
struct Report {
    schema_version: u32,
    trajectories: Vec<ReplayedTrajectory>,
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
        trajectories.push(replay_trajectory(&evaluator, &suite, &trajectory)?);
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

fn print(trajectories: &[ReplayedTrajectory]) -> Result<()> {
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
