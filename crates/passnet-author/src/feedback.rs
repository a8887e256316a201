//! Verdicts in a form for authors: each reason once, and the next step.

use passnet_record::{Reason, Status, Verdict};

/// A reason, and the graphs that it concerns.
#[derive(Clone, Debug, PartialEq)]
pub struct Complaint<'a> {
    pub reason: &'a Reason,
    /// Names of graphs, `TASK/GRAPH`.
    pub graphs: Vec<String>,
}

/// Returns each reason once, in the order of the verdicts.
pub fn complaints(verdicts: &[Verdict]) -> Vec<Complaint<'_>> {
    let mut complaints: Vec<Complaint<'_>> = Vec::new();
    for verdict in verdicts {
        let Some(reason) = &verdict.reason else { continue };
        let graph = format!("{}/{}", verdict.id.task, verdict.id.graph);
        let same =
            |known: &&mut Complaint<'_>| (&known.reason.code, &known.reason.message) == (&reason.code, &reason.message);
        match complaints.iter_mut().find(same) {
            Some(known) => known.graphs.push(graph),
            None => complaints.push(Complaint { reason, graphs: vec![graph] }),
        }
    }
    complaints
}

/// Returns the next step for the author of passes, given by the first verdict that is not `correct`. Returns `None` if no step is
/// left.
pub fn next_step(verdicts: &[Verdict]) -> Option<&'static str> {
    // Only one step is returned, because a fix often changes the other verdicts too.
    let bad = verdicts.iter().find(|verdict| verdict.status != Status::Correct);
    match bad.map(|verdict| verdict.status) {
        None => verdicts
            .iter()
            .filter_map(Verdict::scored_timing)
            .any(|timing| timing.speedup.low <= 1.0)
            .then_some("some graphs are not clearly faster than eager mode; `passnet fuse TASK --explain` predicts the times of fused kernels"),
        Some(Status::NoMatch) => Some("`passnet new TASK --out DIR` writes the pattern of a task"),
        Some(Status::Integrity) => Some("`passnet lint DIR` shows the line, `passnet lint --explain RULE` the rule"),
        Some(Status::Unstable) => Some("the machine is busy; close other programs, or raise --trials"),
        Some(_) => Some("fix the reason above, then evaluate again; --watch does so on every change"),
    }
}
