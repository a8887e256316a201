//! `passnet optimize`: one model made faster, with what each part of that gives.
//!
//! A Python process compiles and times the model; this module prints what it found.

use std::{
    collections::BTreeMap,
    process::{ExitCode, Stdio},
};

use anyhow::{Context, Result};
use passnet_record::counted;
use passnet_services::Interpreter;
use serde::Deserialize;

use crate::{
    args::OptimizeArgs,
    failure::{BAD, unfit, usage},
    output,
};

/// The part of the result that the summary takes.
#[derive(Deserialize)]
struct Optimized {
    median_ns: BTreeMap<String, f64>,
    failures: BTreeMap<String, String>,
    passes: usize,
}

/// Compiles a model, writes its pass library, and prints times against eager mode and `torch.compile`.
pub(crate) fn run(args: &OptimizeArgs) -> Result<ExitCode> {
    let mut command = Interpreter::find().module("passnet.optimize");
    command.arg(&args.model).arg("--out").arg(&args.out).args(["--device", &args.device]);
    for passes in &args.passes {
        command.arg("--passes").arg(passes);
    }
    if let Some(report) = &args.report {
        command.arg("--report").arg(report);
    }
    command.arg("--modes").args(&args.mode).stderr(Stdio::inherit());
    let finished = command.output().context("cannot start Python")?;
    match finished.status.code() {
        Some(0 | 1) if !finished.stdout.is_empty() => {}
        Some(2) => return Err(usage("see above")),
        _ => {
            return Err(unfit(format!(
                "the process that compiles the model ended with {}; see above",
                finished.status
            )));
        }
    }
    let text = String::from_utf8_lossy(&finished.stdout);
    if args.json {
        output::text(text.trim_end())?;
    } else {
        let result: Optimized = serde_json::from_str(&text).context("the result cannot be read")?;
        output::text(&summary(args, &result))?;
    }
    Ok(if finished.status.success() { ExitCode::SUCCESS } else { ExitCode::from(BAD) })
}

fn summary(args: &OptimizeArgs, result: &Optimized) -> String {
    let eager = result.median_ns.get("eager").copied().unwrap_or(f64::NAN);
    let mut sides: Vec<(&String, f64)> = result.median_ns.iter().map(|(name, &time)| (name, time)).collect();
    sides.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut lines: Vec<String> = sides
        .into_iter()
        .map(|(name, time)| format!("{name:<28} {:>12.1} us   {:.2} times as fast as eager", time / 1e3, eager / time))
        .collect();
    lines.extend(result.failures.iter().map(|(name, reason)| format!("{name:<28} failed: {reason}")));
    lines.push(format!("{}: {}", args.out.display(), counted(result.passes, "pass")));
    lines.join("\n")
}
