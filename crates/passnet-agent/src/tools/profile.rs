//! The tool `profile`: time and contents of one call, of eager mode and of the rewritten graph.

use passnet_eval::{Candidate, EvalError};
use passnet_record::{PassDirectory, Profile, ProfileRow, Reason};
use passnet_run::GraphSample;

use crate::{evaluator::Evaluator, gpu_tools, shorten::shortened};

/// Maximum rows of each kind.
const ROWS: usize = 8;
/// Maximum bytes of a name, and of a reason why there is no profile.
const NAME: usize = 90;
const REASON: usize = 1500;

/// Profiles a graph unchanged and, if there are passes, rewritten. Returns the text, and whether the last profile succeeded.
pub(super) fn profile(
    evaluator: &Evaluator,
    graph: &GraphSample,
    passes: PassDirectory,
) -> Result<(String, bool), EvalError> {
    let mut text = format!(
        "graph {}: time of a call (median, warm, without the profiler); rows per call under PyTorch's profiler, which slows the host\n\
         down, so rows show proportions. A profile is neither a measurement nor a verdict.\n",
        graph.id().graph
    );
    let eager = evaluator.profile(graph, &Candidate::Eager)?;
    describe(&mut text, "eager", &eager);
    let is_ok = if passes.files().is_empty() {
        eager.is_ok()
    } else {
        let rewritten = evaluator.profile(graph, &Candidate::Passes(passes.clone()))?;
        describe(&mut text, "passes", &rewritten);
        rewritten.is_ok()
    };
    // Also after a call that failed: a wrong access is a likely cause.
    if evaluator.has_profile_tools() {
        let report = gpu_tools::watch(evaluator, graph, &passes)?;
        let side = if passes.files().is_empty() { "eager" } else { "passes" };
        // A report has numbers and texts only, so it can be written.
        let json = serde_json::to_string(&report).unwrap_or_default();
        text.push_str(&format!("\nncu and compute-sanitizer, {side}:\n{json}\n"));
    }
    Ok((text, is_ok))
}

fn describe(text: &mut String, side: &str, profile: &Result<Profile, Reason>) {
    match profile {
        Ok(profile) => {
            text.push_str(&format!("\n{side}: {}\n", time(profile.wall_ns)));
            rows(text, "on the device", &profile.device);
            rows(text, "on the host", &profile.host);
        }
        Err(reason) => {
            let message = shortened(&reason.message, REASON);
            text.push_str(&format!("\n{side}: no profile ({}): {message}\n", reason.code));
        }
    }
}

fn rows(text: &mut String, place: &str, rows: &[ProfileRow]) {
    if rows.is_empty() {
        return;
    }
    // The rows come from a worker that runs the model's code, so their sum may overflow.
    let count: u64 = rows.iter().fold(0, |sum, row| sum.saturating_add(row.count));
    let total = rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.total_ns));
    text.push_str(&format!("  {place}: {count} events, {}\n", time(total)));
    for row in rows.iter().take(ROWS) {
        let name = shortened(&row.name, NAME).replace('\n', " ");
        text.push_str(&format!("{:>14}  {:>4} x  {name}\n", time(row.total_ns), row.count));
    }
    if rows.len() > ROWS {
        text.push_str(&format!("    and {} more names\n", rows.len() - ROWS));
    }
}

fn time(ns: u64) -> String {
    format!("{:.1} us", ns as f64 / 1e3)
}
