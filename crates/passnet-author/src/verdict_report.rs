//! Verdicts on the graphs of a task as text for their author.

use passnet_record::{OutputComparison, Remark, TextReport, TextTable, Verdict, counted, duration};

use crate::feedback::{Complaint, complaints};

/// Columns of the table of verdicts; the first three are of text.
const TITLES: [&str; 8] = ["graph", "status", "path", "tolerance", "eager", "candidate", "speed-up", "95% interval"];

/// Returns a report with one line per verdict, each reason once with its graphs, and the distances of both sides from float64
/// where those decided.
pub fn verdict_report(verdicts: &[Verdict]) -> TextReport {
    let mut report = TextReport::default();
    report.table(table(verdicts));
    for Complaint { reason, graphs } in complaints(verdicts) {
        let subject = match graphs.as_slice() {
            [graph] => graph.clone(),
            all if all.len() == verdicts.len() => format!("all {}", counted(all.len(), "graph")),
            some => format!("{} ({})", some.join(", "), counted(some.len(), "graph")),
        };
        report.text(format!("\n{subject}: {}: {}", reason.code, reason.message));
    }
    verdicts.iter().flat_map(accepted_by_float64).for_each(|line| report.text(line));
    report
}

fn table(verdicts: &[Verdict]) -> TextTable {
    let mut rows = TextTable::new(&TITLES, 3);
    for verdict in verdicts {
        let timing = verdict.scored_timing();
        let show = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        rows.push([
            format!("{}/{}", verdict.id.task, verdict.id.graph),
            verdict.status.name().to_owned(),
            show(timing.map(|timing| timing.path.to_string())),
            show(verdict.tolerance.map(|t| t.to_string())),
            show(timing.map(|timing| duration(timing.base.median_ns))),
            show(timing.map(|timing| duration(timing.candidate.median_ns))),
            show(timing.map(|timing| format!("{:.3}", timing.speedup.ratio))),
            show(timing.map(|timing| format!("{:.3}-{:.3}", timing.speedup.low, timing.speedup.high))),
        ]);
    }
    rows
}

/// Describes each output that the comparison with float64 decided: the distances of both sides, and the tolerance in paper mode.
fn accepted_by_float64(verdict: &Verdict) -> Vec<String> {
    let accepted = |output: &&OutputComparison| {
        verdict.evidence.notes.contains(&Remark::AcceptedByFloat64 { output: output.index })
    };
    let line = |output: &OutputComparison| {
        let float64 = output.float64.as_ref()?;
        let largest = |max: Option<f64>| max.map_or("NaN or infinity".to_owned(), |max| format!("{max:.1e}"));
        let eager = output.tolerance.map_or("at no tolerance".to_owned(), |t| format!("from t = {t} on"));
        Some(format!(
            "\n{}/{}: output {} is accepted by float64: it is off by up to {}, eager by up to {}; close to eager {eager}, which \
             is what paper mode asks",
            verdict.id.task,
            verdict.id.graph,
            output.index,
            largest(float64.candidate.max),
            largest(float64.eager.max)
        ))
    };
    verdict.outputs.iter().filter(accepted).filter_map(line).collect()
}
