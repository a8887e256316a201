//! `passnet compare`: the graphs that got better, worse or newly wrong between two runs, and a gate for continuous integration.

use std::process::ExitCode;

use anyhow::Result;
use passnet_record::SCHEMA_VERSION;
use passnet_run::archive::load_run;
use passnet_score::{ComparedRuns, RunComparison};
use passnet_web::{cautions, compare, comparison_report};
use serde::Serialize;

use crate::{
    failure::{exit_code, usage},
    output,
};
use passnet_flags::CompareArgs;

/// The JSON form of a comparison.
#[derive(Serialize)]
struct JsonComparison<'a> {
    schema_version: u32,
    before: &'a str,
    after: &'a str,
    #[serde(flatten)]
    comparison: &'a RunComparison,
    /// Conditions of `--fail-on` that hold.
    failed: &'a [String],
}

/// Compares; exits with 1 if a condition of `--fail-on` holds.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode> {
    let (before, after) = (load_run(&args.before)?, load_run(&args.after)?);
    let comparison = compare(&before, &after);
    if comparison.graphs.is_empty() {
        return Err(usage("the runs have no graph in common; compare runs over one suite"));
    }
    let subject = ComparedRuns { comparison: &comparison, before: &before.score.tally, after: &after.score.tally };
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
        let labelled = [("the first run", &before), ("the second run", &after)];
        cautions(&labelled).iter().for_each(|caution| eprintln!("{caution}"));
        output::report(&comparison_report(&comparison))?;
    }
    for condition in &failed {
        eprintln!("failed: {condition}");
    }
    exit_code(failed.is_empty())
}
