//! `passnet compare`: what got better, worse or newly wrong between two runs; a gate for continuous integration.

use std::process::ExitCode;

use anyhow::Result;
use passnet_record::SCHEMA_VERSION;
use passnet_run::archive::load_run;
use passnet_score::{Change, Comparison, GraphChange, ScoreChange, Subject, scored_path};
use passnet_web::{RunView, compare};
use serde::Serialize;

use crate::{
    args::CompareArgs,
    failure::{BAD, usage},
    output::{self, Rows},
};

/// Graphs printed for each kind of change.
const PRINTED: usize = 15;

/// The JSON form of a comparison.
#[derive(Serialize)]
struct JsonComparison<'a> {
    schema_version: u32,
    before: &'a str,
    after: &'a str,
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// Conditions of `--fail-on` that hold.
    failed: &'a [String],
}

/// Compares; leaves with 1 where a condition of `--fail-on` holds.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode> {
    let (before, after) = (load_run(&args.before)?, load_run(&args.after)?);
    let comparison = compare(&before, &after);
    if comparison.graphs.is_empty() {
        return Err(usage("the runs have no graph in common; compare runs over one suite"));
    }
    let subject = Subject { comparison: &comparison, before: &before.score.tally, after: &after.score.tally };
    let mut failed = Vec::new();
    for condition in &args.fail_on {
        if condition.holds(&subject).map_err(|error| usage(error.to_string()))? {
            failed.push(condition.to_string());
        }
    }
    if args.json {
        let (before, after) = (before.header.run.as_str(), after.header.run.as_str());
        let schema_version = SCHEMA_VERSION;
        output::json(&JsonComparison { schema_version, before, after, comparison: &comparison, failed: &failed })?;
    } else {
        print(&before, &after, &comparison)?;
    }
    for condition in &failed {
        eprintln!("failed: {condition}");
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(BAD) })
}

fn print(before: &RunView, after: &RunView, comparison: &Comparison) -> Result<()> {
    remark_differences(before, after);
    let mut scores = Rows::new(&["", "before", "after", "change", "95% interval"], 1);
    for (name, change) in [("AS", Some(comparison.aggregated)), ("sound", comparison.sound)] {
        let Some(ScoreChange { before, after, ratio, interval }) = change else { continue };
        let bounds = interval
            .map_or_else(|| "-".to_owned(), |bounds| format!("{} to {}", signed(bounds.low), signed(bounds.high)));
        scores.push([name.to_owned(), format!("{before:.3}"), format!("{after:.3}"), signed(ratio), bounds]);
    }
    scores.print()?;
    let kinds = [
        (Change::NewlyWrong, "newly wrong"),
        (Change::Slower, "slower"),
        (Change::NewlyRight, "newly right"),
        (Change::Faster, "faster"),
        (Change::NotHandedIn, "not handed in"),
    ];
    let counts: Vec<String> =
        kinds.iter().map(|(change, name)| format!("{} {name}", comparison.count(*change))).collect();
    output::text(&format!("\n{} graphs in both: {}", comparison.graphs.len(), counts.join(", ")))?;
    for (change, name) in kinds {
        let mut graphs: Vec<&GraphChange> = comparison.graphs.iter().filter(|graph| graph.change == change).collect();
        let size = |graph: &GraphChange| graph.ratio.map_or(0.0, |(ratio, _)| ratio.ln().abs());
        graphs.sort_by(|a, b| size(b).total_cmp(&size(a)));
        if graphs.is_empty() {
            continue;
        }
        let mut table = Rows::new(&[name, "change", "95% interval"], 1);
        for graph in graphs.iter().take(PRINTED) {
            let (change, bounds) = graph.ratio.map_or_else(
                || ("-".to_owned(), "-".to_owned()),
                |(ratio, bounds)| (signed(ratio), format!("{} to {}", signed(bounds.low), signed(bounds.high))),
            );
            table.push([format!("{}/{}", graph.id.task, graph.id.graph), change, bounds]);
        }
        output::text("")?;
        table.print()?;
        if graphs.len() > PRINTED {
            output::text(&format!("and {} more", graphs.len() - PRINTED))?;
        }
    }
    Ok(())
}

fn remark_differences(before: &RunView, after: &RunView) {
    let (one, other) = (&before.header, &after.header);
    let differences = [
        ("suites", (&one.suite, &one.suite_version) != (&other.suite, &other.suite_version)),
        ("settings", one.settings != other.settings),
        ("paths", scored_path(&before.verdicts, &one.settings) != scored_path(&after.verdicts, &other.settings)),
        ("machines or versions", one.fingerprint != other.fingerprint),
    ];
    for (what, _) in differences.iter().filter(|(_, differ)| *differ) {
        eprintln!("the runs have different {what}: compare with care");
    }
}

fn signed(ratio: f64) -> String {
    format!("{:+.1}%", 100.0 * (ratio - 1.0))
}
