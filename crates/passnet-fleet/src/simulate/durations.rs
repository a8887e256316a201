//! Durations of tasks, from a run.

use std::{collections::BTreeMap, time::Duration};

use passnet_run::RunLog;

/// Returns the wall time of each task of a run.
pub fn task_durations(log: &RunLog) -> Vec<Duration> {
    let mut tasks = BTreeMap::<&str, u64>::new();
    for verdict in log.verdicts() {
        *tasks.entry(&verdict.id.task).or_default() += verdict.cost.wall_ns;
    }
    tasks.into_values().map(Duration::from_nanos).collect()
}
