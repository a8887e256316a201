//! `passnet agent replay`: the tool calls of trajectories, carried out again.

use std::process::ExitCode;

use anyhow::Result;
use passnet_agent::{Evaluator, ReplayedTrajectory, VerdictCache, corpus, replay_report, replay_trajectory};
use passnet_dataset::open_suite;
use passnet_flags::ReplayArgs;
use passnet_record::agent::TRAJECTORY_VERSION;
use passnet_run::Selection;
use serde::Serialize;

use crate::{
    commands::referee,
    failure::{exit_code, usage},
    output,
};

#[derive(Serialize)]
struct ReplayReport {
    schema_version: u32,
    trajectories: Vec<ReplayedTrajectory>,
}

/// Replays and compares. Exits with 1 if a verdict differs.
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
        // An error, because an empty comparison would look like equal results.
        return Err(usage(format!(
            "{}: no trajectory meets the conditions, or there is none; `passnet traj stats` counts them",
            args.trajectories.display()
        )));
    }
    let same = trajectories.iter().flat_map(|comparison| &comparison.calls).all(|call| call.same);
    if args.json {
        output::json(&ReplayReport { schema_version: TRAJECTORY_VERSION, trajectories })?;
    } else {
        output::report(&replay_report(&trajectories))?;
    }
    exit_code(same)
}
