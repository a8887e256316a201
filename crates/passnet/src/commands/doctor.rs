//! `passnet doctor`: checks what this machine can do by evaluating a graph and trying the sandbox.

use std::process::ExitCode;

use anyhow::Result;
use passnet_attacks::{CheckResult, Severity, check_evaluation, check_installation, finding_table};
use passnet_eval::probe::Proof;
use passnet_record::{Device, SCHEMA_VERSION};
use serde::Serialize;

use super::referee;
use crate::{failure::UNFIT, output};
use passnet_flags::DoctorArgs;

/// The JSON form of the findings.
#[derive(Serialize)]
struct JsonFindings<'a> {
    schema_version: u32,
    device: Device,
    findings: &'a [CheckResult],
    sandbox: Option<&'a Proof>,
}

/// Checks the installation, then evaluates a graph and tries the sandbox. Exits with 3 if evaluations cannot run.
pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode> {
    // Importing PyTorch takes seconds.
    eprintln!("importing the packages …");
    let mut findings = check_installation();
    if !args.json {
        output::table(&finding_table(&findings))?;
    }
    // These findings are already printed, because an evaluation takes seconds.
    let printed = findings.len();
    let mut proof = None;
    if !args.quick && findings.iter().all(|finding| finding.level != Severity::Unfit) {
        match evaluate_itself(args, &mut findings) {
            Ok(found) => proof = Some(found),
            Err(error) => {
                let detail = error.chain().map(ToString::to_string).collect::<Vec<_>>().join(": ");
                findings.push(CheckResult { what: "evaluation", level: Severity::Unfit, detail });
            }
        }
    }
    if args.json {
        output::json(&JsonFindings {
            schema_version: SCHEMA_VERSION,
            device: args.device,
            findings: &findings,
            sandbox: proof.as_ref(),
        })?;
    } else if findings.len() > printed {
        output::table(&finding_table(&findings[printed..]))?;
    }
    let fit = findings.iter().all(|finding| finding.level != Severity::Unfit);
    Ok(if fit { ExitCode::SUCCESS } else { ExitCode::from(UNFIT) })
}

fn evaluate_itself(args: &DoctorArgs, findings: &mut Vec<CheckResult>) -> Result<Proof> {
    eprintln!("starting the workers …");
    let referee = referee::start_on(args.device)?;
    Ok(check_evaluation(&referee, findings, &|step| eprintln!("{step}"))?)
}
