//! `passnet attacks`: the attack suite against this installation.

use std::process::ExitCode;

use anyhow::Result;
use passnet_attacks::{AttackError, AttackOptions, Outcome, Report};
use passnet_eval::EvalError;
use passnet_record::{Coverage, counted};

use crate::{
    args::AttacksArgs,
    failure::{BAD, unfit},
    output::{self, Rows},
};

/// Runs the suite and prints the outcomes. Exits with 1 unless every attack was caught and every honest pass accepted.
pub(crate) fn run(args: &AttacksArgs) -> Result<ExitCode> {
    let coverage = match (args.once, args.quick) {
        (true, _) => Coverage::Once,
        (false, true) => Coverage::Quick,
        (false, false) => Coverage::Full,
    };
    let options = AttackOptions {
        directory: args.directory.clone(),
        filter: args.filter.clone(),
        device: args.device,
        coverage,
        jobs: args.jobs,
    };
    let report = passnet_attacks::run(&options).map_err(|error| match error {
        AttackError::Eval(EvalError::Zygote(error)) => unfit(error.to_string()),
        error => error.into(),
    })?;
    if args.json {
        output::json(&report)?;
    } else {
        print(&report)?;
    }
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(BAD) })
}

fn print(report: &Report) -> Result<()> {
    let mut rows = Rows::new(&["entry", "outcome", "verdict", "stopped alone by", "what it does"], 5);
    for entry in &report.entries {
        let verdict = entry.verdict.as_ref();
        let verdict = verdict.map(|verdict| format!("{} {}", verdict.status.name(), verdict.reason));
        let layers = if entry.by_construction { "by construction".to_owned() } else { entry.layers.join(" ") };
        let outcome = format!("{:?}", entry.outcome).to_lowercase();
        rows.push([entry.name.clone(), outcome, verdict.unwrap_or_default(), layers, entry.title.clone()]);
    }
    rows.print()?;
    for entry in report.entries.iter().filter(|entry| !entry.detail.is_empty() && entry.outcome != Outcome::Skipped) {
        output::text(&format!("\n{}: {:?}: {}", entry.name, entry.outcome, entry.detail))?;
    }
    let count = |outcome| report.count(outcome);
    let attacks = [Outcome::Caught, Outcome::Escaped, Outcome::Misjudged, Outcome::Dead];
    output::text(&format!(
        "\n{}: {} caught, {} escaped, {} misjudged, {} dead; {} honest: {} passed, {}; {} not run on {}",
        counted(attacks.into_iter().map(count).sum(), "attack"),
        count(Outcome::Caught),
        count(Outcome::Escaped),
        count(Outcome::Misjudged),
        count(Outcome::Dead),
        count(Outcome::Passed) + count(Outcome::FalseRejection),
        count(Outcome::Passed),
        counted(count(Outcome::FalseRejection), "false rejection"),
        count(Outcome::Skipped),
        report.device,
    ))
}
