//! `passnet fleet simulate`.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use passnet_fleet::{HealthPolicy, Policy, Simulation, simulate, task_durations};
use passnet_run::RunLog;

use crate::{failure::usage, output};
use passnet_flags::SimulateArgs;

/// Runs a simulation and prints its report as JSON.
pub(super) fn run(args: &SimulateArgs) -> Result<ExitCode> {
    let mut durations = Vec::new();
    for run in &args.runs {
        durations.extend(task_durations(&RunLog::read(run)?));
    }
    if durations.is_empty() {
        return Err(usage("the runs have no verdicts"));
    }
    let hours = |hours: f64| (hours > 0.0).then(|| Duration::from_secs_f64(hours.min(1e6) * 3600.0));
    let health = HealthPolicy { every: args.check_every, ..HealthPolicy::default() };
    let report = simulate(&Simulation {
        policy: Policy { health, ..Policy::default() },
        devices: args.devices,
        devices_per_node: args.devices_per_node,
        capacity: args.jobs,
        tasks: args.tasks,
        durations,
        actions_per_second: args.actions_per_second,
        trainers: args.trainers,
        start: args.start,
        check: args.check,
        station_mtbf: hours(args.station_mtbf_hours),
        node_mtbf: hours(args.node_mtbf_hours),
        biased: args.biased,
        seed: args.seed,
    });
    output::json(&report)?;
    Ok(ExitCode::SUCCESS)
}
