//! Two runs side by side as tables for a terminal.

use passnet_record::{TextReport, TextTable, counted};
use passnet_score::{Change, GraphChange, RunComparison, ScoreChange};

/// Graphs listed for each kind of change.
const LISTED: usize = 15;

/// Kinds of change in the order in which they are shown.
const KINDS: [(Change, &str); 5] = [
    (Change::NewlyWrong, "newly wrong"),
    (Change::Slower, "slower"),
    (Change::NewlyRight, "newly right"),
    (Change::Faster, "faster"),
    (Change::NotHandedIn, "not handed in"),
];

/// Returns the scores, the number of changes of each kind, and the graphs with the greatest changes.
pub fn comparison_report(comparison: &RunComparison) -> TextReport {
    let mut report = TextReport::default();
    report.table(scores(comparison));
    let counts = KINDS.map(|(change, name)| format!("{} {name}", comparison.count(change)));
    report.text(format!("\n{} in both: {}", counted(comparison.graphs.len(), "graph"), counts.join(", ")));
    for (change, name) in KINDS {
        let mut graphs: Vec<&GraphChange> = comparison.graphs.iter().filter(|graph| graph.change == change).collect();
        // Logarithm: half and double are changes of the same size.
        let size = |graph: &GraphChange| graph.ratio.map_or(0.0, |(ratio, _)| ratio.ln().abs());
        graphs.sort_by(|a, b| size(b).total_cmp(&size(a)));
        if graphs.is_empty() {
            continue;
        }
        report.text("");
        report.table(changed(name, &graphs));
        if graphs.len() > LISTED {
            report.text(format!("and {} more", graphs.len() - LISTED));
        }
    }
    report
}

fn scores(comparison: &RunComparison) -> TextTable {
    let mut table = TextTable::new(&["", "before", "after", "change", "95% interval"], 1);
    for (name, change) in [("AS", Some(comparison.aggregated)), ("sound", comparison.sound)] {
        let Some(ScoreChange { before, after, ratio, interval }) = change else { continue };
        let bounds = interval
            .map_or_else(|| "-".to_owned(), |bounds| format!("{} to {}", signed(bounds.low), signed(bounds.high)));
        table.push([name.to_owned(), format!("{before:.3}"), format!("{after:.3}"), signed(ratio), bounds]);
    }
    table
}

fn changed(name: &str, graphs: &[&GraphChange]) -> TextTable {
    let mut table = TextTable::new(&[name, "change", "95% interval"], 1);
    for graph in graphs.iter().take(LISTED) {
        let (change, bounds) = graph.ratio.map_or_else(
            || ("-".to_owned(), "-".to_owned()),
            |(ratio, bounds)| (signed(ratio), format!("{} to {}", signed(bounds.low), signed(bounds.high))),
        );
        table.push([format!("{}/{}", graph.id.task, graph.id.graph), change, bounds]);
    }
    table
}

fn signed(ratio: f64) -> String {
    format!("{:+.1}%", 100.0 * (ratio - 1.0))
}
