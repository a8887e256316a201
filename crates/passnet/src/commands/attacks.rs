//! `passnet attacks`: the attack suite against this installation.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use passnet_attacks::{AttackError, AttackOptions};
use passnet_eval::EvalError;
use passnet_record::Coverage;

use crate::{
    failure::{exit_code, unfit, usage},
    output,
};
use passnet_flags::AttacksArgs;

/// Runs the suite and prints the outcomes. Exits with 1 unless every attack was caught and every honest pass accepted.
pub(crate) fn run(args: &AttacksArgs) -> Result<ExitCode> {
    let coverage = match (args.once, args.quick) {
        (true, _) => Coverage::Once,
        (false, true) => Coverage::Quick,
        (false, false) => Coverage::Full,
    };
    if !args.directory.join("tasks").is_dir() {
        let place = args.directory.display();
        return Err(usage(format!("{place}: no attack suite; it is the folder `attacks` of PassNet's repository")));
    }
    let options = AttackOptions {
        directory: args.directory.clone(),
        filter: args.filter.clone(),
        device: args.device,
        coverage,
        jobs: args.jobs,
    };
    if let Some(seconds) = args.cost {
        let report = passnet_attacks::measure_cost(&options, Duration::from_secs(seconds)).map_err(explain)?;
        if args.json {
            output::json(&report)?;
        } else {
            output::report(&report.text_report())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let report = passnet_attacks::run(&options).map_err(explain)?;
    if args.json {
        output::json(&report)?;
    } else {
        output::report(&report.text_report())?;
    }
    exit_code(report.is_clean())
}

/// Gives an error its exit code: 3 if the fork server does not start, because the machine is not fit, and 2 if the filter matches
/// nothing.
fn explain(error: AttackError) -> anyhow::Error {
    match error {
        AttackError::Eval(EvalError::Zygote(error)) => unfit(error.to_string()),
        error @ AttackError::NoMatch { .. } => usage(error.to_string()),
        error => error.into(),
    }
}
