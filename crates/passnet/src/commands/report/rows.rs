//! Verdicts as flat rows.

use passnet_dataset::store::ResultRow;
use passnet_record::{ExecutionPath, Timing, Verdict};
use passnet_web::RunView;

/// One row per verdict of all runs.
pub(super) fn rows(runs: &[RunView]) -> Vec<ResultRow> {
    runs.iter().flat_map(|run| run.verdicts.iter().map(move |verdict| row(run, verdict))).collect()
}

fn row(run: &RunView, verdict: &Verdict) -> ResultRow {
    let header = &run.header;
    let machine =
        if header.fingerprint.device.is_empty() { &header.fingerprint.cpu } else { &header.fingerprint.device };
    let scored = verdict.scored_timing();
    let control = verdict.control_timing();
    let of = |timing: Option<&Timing>, value: fn(&Timing) -> f64| timing.map(value);
    ResultRow {
        run: header.run.clone(),
        author: header.author.to_string(),
        suite: header.suite.clone(),
        suite_version: header.suite_version.clone(),
        mode: header.settings.mode.to_string(),
        device: header.settings.device.to_string(),
        machine: machine.clone(),
        task: verdict.id.task.clone(),
        graph: verdict.id.graph.clone(),
        key: verdict.key.to_string(),
        status: verdict.status.name().to_owned(),
        reason: verdict.reason.as_ref().map(|reason| reason.code.clone()),
        path: scored.map(|timing| {
            match timing.path {
                ExecutionPath::Direct => "direct",
                ExecutionPath::Compiled => "compiled",
            }
            .to_owned()
        }),
        stable: scored.map(|timing| if timing.stable { "yes" } else { "no" }.to_owned()),
        tolerance: verdict.tolerance.map(i64::from),
        nodes_before: i64::try_from(verdict.evidence.nodes_before).ok(),
        nodes_after: i64::try_from(verdict.evidence.nodes_after).ok(),
        wall_ns: i64::try_from(verdict.cost.wall_ns).ok(),
        speedup: of(scored, |timing| timing.speedup.ratio),
        speedup_low: of(scored, |timing| timing.speedup.low),
        speedup_high: of(scored, |timing| timing.speedup.high),
        device_speedup: scored.and_then(|timing| timing.device_speedup).map(|speedup| speedup.ratio),
        control_speedup: of(control, |timing| timing.speedup.ratio),
        control_low: of(control, |timing| timing.speedup.low),
        control_high: of(control, |timing| timing.speedup.high),
        eager_median_ns: of(scored, |timing| timing.base.median_ns),
        control_median_ns: of(control, |timing| timing.base.median_ns),
        candidate_median_ns: of(scored, |timing| timing.candidate.median_ns),
        eager_device_ns: scored.and_then(|timing| timing.base.device_median_ns),
        control_device_ns: control.and_then(|timing| timing.base.device_median_ns),
        candidate_device_ns: scored.and_then(|timing| timing.candidate.device_median_ns),
        bound_ns: scored.and_then(|timing| timing.bound_ns),
    }
}
