//! `passnet extract`: models to samples.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{ExitCode, Stdio},
};

use anyhow::{Context, Result};
use passnet_eval::python::Interpreter;
use passnet_python::sample::read_sample_dir;
use serde::Deserialize;

use crate::{
    args::ExtractArgs,
    failure::{BAD, unfit},
    output::{self, Rows},
};

/// One line of the capturing process: what became of one model.
#[derive(Deserialize)]
struct Captured {
    spec: String,
    status: String,
    #[serde(default)]
    folders: Vec<String>,
    #[serde(default)]
    ops: Vec<usize>,
    #[serde(default)]
    seconds: f64,
    #[serde(default)]
    reason: String,
}

/// Captures models in a Python process, then reads every sample back: what cannot be read was not captured.
pub(crate) fn run(args: &ExtractArgs) -> Result<ExitCode> {
    let interpreter = Interpreter::find();
    let mut capture = interpreter.module("passnet.extract");
    capture.args(&args.models).arg("--out").arg(&args.out).arg("--seed").arg(args.seed.to_string());
    capture.arg("--timeout").arg(args.timeout.to_string()).stdout(Stdio::piped());
    let mut child = capture.spawn().map_err(|error| {
        unfit(format!("cannot start {}: {error}; set PASSNET_PYTHON", interpreter.python.display()))
    })?;
    let lines = BufReader::new(child.stdout.take().context("the standard output is piped")?).lines();
    let mut rows = Rows::new(&["model", "graphs", "ops", "seconds", "result"], 1);
    let (mut captured, mut failed) = (0, 0);
    for line in lines {
        let line = line?;
        let model: Captured = serde_json::from_str(&line).with_context(|| format!("the capture wrote `{line}`"))?;
        let result = if model.status == "ok" { check_samples(&args.out, &model.folders) } else { Err(model.reason) };
        let good = result.is_ok();
        *(if good { &mut captured } else { &mut failed }) += 1;
        let result = result.err().unwrap_or_else(|| "ok".to_owned());
        tracing::info!("{}: {result}", model.spec);
        let ops: usize = model.ops.iter().sum();
        rows.push([
            model.spec,
            model.folders.len().to_string(),
            ops.to_string(),
            format!("{:.1}", model.seconds),
            first_line(&result),
        ]);
    }
    let status = child.wait()?;
    if captured + failed == 0 {
        return Err(unfit(format!("the capture ended with {status} before its first model; is PyTorch installed?")));
    }
    rows.print()?;
    output::text(&format!("{captured} captured, {failed} failed"))?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(BAD) })
}

/// Reads the samples of one model.
fn check_samples(out: &Path, folders: &[String]) -> Result<(), String> {
    for folder in folders {
        read_sample_dir(&out.join(folder)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
