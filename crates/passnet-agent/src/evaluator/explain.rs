//! Text that describes verdicts to the model.

use passnet_record::{Depth, Reason, Status, Verdict};

use crate::{evaluation::TaskVerdict, shorten::shortened};

/// Note for passes that the CPU pre-check rejected.
const REJECTED: &str = "\nFailed at cpu: the results are wrong on the CPU, where Triton kernels run in the interpreter; the device was not used. \
     If the interpreter is wrong, use `skip_cpu: true`.\n";

/// Maximum bytes of one reason.
const MAX_REASON: usize = 3000;

/// Describes verdicts: one line per graph, then the reasons. Held-out graphs are never mentioned.
pub(super) fn explain(verdicts: &[TaskVerdict], worth: &str) -> String {
    // Even a count would reveal something about the held-out graphs to the model.
    let shown: Vec<&TaskVerdict> = verdicts.iter().filter(|graph| !graph.held_out).collect();
    let correct = shown.iter().filter(|graph| graph.verdict.status == Status::Correct).count();
    let noun = if shown.len() == 1 { "graph" } else { "graphs" };
    let mut text = format!("{correct} of {} {noun} correct, {worth}\n", shown.len());
    shown.iter().for_each(|graph| text.push_str(&line(graph)));
    for (reason, names) in reasons(&shown) {
        let message = shortened(&reason.message, MAX_REASON);
        text.push_str(&format!("\n{} ({}): {message}\n", names.join(", "), reason.code));
    }
    if shown.iter().any(|graph| graph.depth == Depth::Cpu) {
        text.push_str(REJECTED);
    }
    text
}

/// Describes one graph in one line.
fn line(TaskVerdict { verdict, depth, .. }: &TaskVerdict) -> String {
    let mut text = format!("graph {}: {}", verdict.id.graph, verdict.status.name());
    if !matches!(verdict.status, Status::Correct | Status::Unstable) {
        text.push_str(&format!(" (failed at {})", depth.name()));
    }
    if let Some(tolerance) = verdict.tolerance {
        text.push_str(&format!(", equal to eager mode at tolerance {tolerance} and above"));
    }
    text + &timing(verdict) + "\n"
}

fn timing(verdict: &Verdict) -> String {
    let Some(timing) = verdict.scored_timing() else { return String::new() };
    let speedup = &timing.speedup;
    format!(
        ", eager {:.1} us, passes {:.1} us, speed-up {:.3} (95% interval {:.3} to {:.3})",
        timing.base.median_ns / 1e3,
        timing.candidate.median_ns / 1e3,
        speedup.ratio,
        speedup.low,
        speedup.high
    )
}

/// Returns the distinct reasons, each with the graphs that have it.
fn reasons<'a>(shown: &[&'a TaskVerdict]) -> Vec<(&'a Reason, Vec<&'a str>)> {
    let mut reasons: Vec<(&Reason, Vec<&str>)> = Vec::new();
    for TaskVerdict { verdict, .. } in shown {
        let Some(reason) = &verdict.reason else { continue };
        let name = verdict.id.graph.as_str();
        // Graphs of a task mostly fail for one reason. Repeating it would fill the model's context.
        match reasons.iter_mut().find(|(known, _)| known.message == reason.message) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    reasons
}
