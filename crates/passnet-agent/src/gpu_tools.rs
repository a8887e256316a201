//! Tools of the CUDA toolkit that watch one call of a graph: `ncu` and `compute-sanitizer`.
//!
//! They run outside of the sandbox, because they read counters of the driver and instrument kernels. That is why they are off unless the
//! user asks for them, and why passes that break an integrity rule never run under them.

mod memcheck;
mod ncu;
mod tool;

use std::{path::Path, time::Duration};

use passnet_eval::EvalError;
use passnet_record::{PassDirectory, services::ConfirmRequest};
use passnet_run::GraphSample;
use serde::Serialize;

use self::{
    memcheck::Memcheck,
    ncu::Launch,
    tool::{NoReport, Tool},
};
use crate::evaluator::Evaluator;

/// Version of [`GpuReport`].
const SCHEMA_VERSION: u32 = 1;
/// Maximum launches of a report.
const LAUNCHES: usize = 16;
/// Time limit of a tool. `ncu` repeats each launch for every group of metrics, and memory checks slow kernels down ten to a hundred times.
const LIMIT: Duration = Duration::from_secs(180);

/// Reports of both tools about one call. `docs/reference/trajectories.md` describes it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct GpuReport {
    schema_version: u32,
    /// Launches of the call, the longest first.
    ncu: Outcome<Vec<Launch>>,
    /// Wrong accesses of the call.
    memcheck: Outcome<Memcheck>,
}

/// A report, or the reason why there is none.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome<T> {
    Report(T),
    Unavailable(String),
}

impl<T> From<Result<T, NoReport>> for Outcome<T> {
    fn from(result: Result<T, NoReport>) -> Self {
        match result {
            Ok(report) => Self::Report(report),
            Err(why) => Self::Unavailable(why.to_string()),
        }
    }
}

impl GpuReport {
    fn without(why: &NoReport) -> Self {
        let (ncu, memcheck) = (Outcome::Unavailable(why.to_string()), Outcome::Unavailable(why.to_string()));
        Self { schema_version: SCHEMA_VERSION, ncu, memcheck }
    }
}

/// Runs both tools on one call of a graph with these passes, or without passes, while no measurement runs.
///
/// # Errors
/// If the referee does not work. A tool that is missing or fails is part of the report.
pub(crate) fn watch(
    evaluator: &Evaluator,
    graph: &GraphSample,
    passes: &PassDirectory,
) -> Result<GpuReport, EvalError> {
    if let Err(why) = may_run(evaluator, passes) {
        return Ok(GpuReport::without(&why));
    }
    let settings = evaluator.referee().settings();
    let text = |(name, bytes): &(String, Vec<u8>)| (name.clone(), String::from_utf8_lossy(bytes).into_owned());
    let request = ConfirmRequest {
        graph: graph.wire(settings.device),
        inputs: graph.metas().to_vec(),
        device: settings.device.to_string(),
        threads: settings.threads,
        lock: Path::new("").to_owned(),
        passes: passes.files().iter().map(text).collect(),
    };
    evaluator.referee().with_device(|| GpuReport {
        schema_version: SCHEMA_VERSION,
        ncu: tool::run(Tool::Ncu, &request, &evaluator.referee().interpreter(), LIMIT)
            .and_then(|text| profiled(&text))
            .into(),
        memcheck: tool::run(Tool::Memcheck, &request, &evaluator.referee().interpreter(), LIMIT)
            .and_then(|text| memcheck::report(&text).ok_or_else(|| NoReport::of(Tool::Memcheck, &text)))
            .into(),
    })
}

/// Returns why the tools may not run these passes.
fn may_run(evaluator: &Evaluator, passes: &PassDirectory) -> Result<(), NoReport> {
    if evaluator.devices().is_some() {
        return Err(NoReport::Fleet);
    }
    if evaluator.referee().settings().device.is_cpu() {
        return Err(NoReport::Cpu);
    }
    // Checked here too, so that no order of calls can run passes that the rules refuse. Without passes, the graph itself runs, and the
    // rules would refuse an empty folder.
    match Evaluator::lint(passes).first() {
        Some(finding) if !passes.files().is_empty() => Err(NoReport::Refused { rule: finding.rule.to_owned() }),
        _ => Ok(()),
    }
}

fn profiled(text: &str) -> Result<Vec<Launch>, NoReport> {
    let mut launches = ncu::launches(text);
    if launches.is_empty() {
        return Err(NoReport::of(Tool::Ncu, text));
    }
    launches.truncate(LAUNCHES);
    Ok(launches)
}
