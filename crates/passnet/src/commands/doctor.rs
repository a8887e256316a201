//! `passnet doctor`: checks by trying what this machine can do.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use passnet_eval::{
    Candidate,
    probe::{self, Proof},
};
use passnet_graphnet::sample::{Sample, SampleTexts};
use passnet_record::{Device, GraphId, SCHEMA_VERSION, Status};
use passnet_run::GraphSample;
use passnet_services::Interpreter;
use serde::Serialize;

use super::referee;
use crate::{
    args::DoctorArgs,
    failure::UNFIT,
    output::{self, Rows, duration},
};

/// A graph with one op of each common kind, to see the whole way work.
const MODEL: &str = "\
import torch
class GraphModule(torch.nn.Module):
    def forward(self, in_0, w_0):
        tmp_0 = torch.nn.functional.linear(in_0, w_0, None)
        tmp_1 = torch.nn.functional.gelu(tmp_0)
        tmp_2 = tmp_1 + in_0
        return (tmp_2,)
";
const WEIGHT_META: &str = "\
class Program_weight_tensor_meta_in_0:
    name = 'in_0'
    shape = [64, 64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 1.0
class Program_weight_tensor_meta_w_0:
    name = 'w_0'
    shape = [64, 64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.1
";

/// Severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Good,
    Limited,
    Unfit,
}

/// One thing that was tried.
#[derive(Serialize)]
struct Finding {
    what: &'static str,
    level: Level,
    detail: String,
}

/// The JSON form of the findings.
#[derive(Serialize)]
struct JsonFindings<'a> {
    schema_version: u32,
    device: Device,
    findings: &'a [Finding],
    sandbox: Option<&'a Proof>,
}

/// Checks the installation, then evaluates a graph and tries the sandbox. Exits with 3 if evaluations cannot run.
pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode> {
    let mut findings = vec![interpreter(), packages(), compiler()];
    if !args.json {
        print(&findings)?;
    }
    let printed = findings.len();
    let mut proof = None;
    if !args.quick && findings.iter().all(|finding| finding.level != Level::Unfit) {
        match evaluate_itself(args, &mut findings) {
            Ok(found) => proof = Some(found),
            Err(error) => {
                let detail = error.chain().map(ToString::to_string).collect::<Vec<_>>().join(": ");
                findings.push(Finding { what: "evaluation", level: Level::Unfit, detail });
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
        print(&findings[printed..])?;
    }
    let fit = findings.iter().all(|finding| finding.level != Level::Unfit);
    Ok(if fit { ExitCode::SUCCESS } else { ExitCode::from(UNFIT) })
}

fn print(findings: &[Finding]) -> Result<()> {
    let mut rows = Rows::new(&["", "found", "detail"], 3);
    for finding in findings {
        let mark = match finding.level {
            Level::Good => "ok",
            Level::Limited => "limited",
            Level::Unfit => "unfit",
        };
        rows.push([finding.what.to_owned(), mark.to_owned(), finding.detail.clone()]);
    }
    rows.print()
}

/// The interpreter and the reason for its choice.
fn interpreter() -> Finding {
    let (interpreter, source) = Interpreter::find_with_source();
    let package = interpreter.site.map(|site| format!("; the package from {}, PASSNET_SITE", site.display()));
    let detail = format!("{} ({source}){}", interpreter.python.display(), package.unwrap_or_default());
    Finding { what: "interpreter", level: Level::Good, detail }
}

/// The packages of the interpreter, without starting PyTorch.
fn packages() -> Finding {
    let interpreter = Interpreter::find();
    let python = interpreter.python.display();
    let (level, detail) = match interpreter.packages() {
        Ok((found, missing)) if missing.is_empty() => (Level::Good, found),
        Ok((found, missing)) => {
            (Level::Unfit, format!("{python} has {found}, but not {missing}; install it, or set PASSNET_PYTHON"))
        }
        Err(error) => (Level::Unfit, format!("cannot run {python}: {error}; set PASSNET_PYTHON")),
    };
    Finding { what: "packages", level, detail }
}

/// C++ passes need a compiler; nothing else does.
fn compiler() -> Finding {
    let version = Command::new("c++").arg("--version").output().ok().filter(|output| output.status.success());
    match version {
        Some(output) => {
            let detail = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned();
            Finding { what: "C++ compiler", level: Level::Good, detail }
        }
        None => Finding {
            what: "C++ compiler",
            level: Level::Limited,
            detail: "`c++` not found; passes with C++ kernels and TorchInductor on a CPU need it".to_owned(),
        },
    }
}

/// One evaluation of eager against itself: it has to be correct, and its ratio to be 1.
fn evaluate_itself(args: &DoctorArgs, findings: &mut Vec<Finding>) -> Result<Proof> {
    eprintln!("starting PyTorch …");
    let referee = referee::start_on(args.device)?;
    let machine = referee.fingerprint();
    let versions: Vec<String> = machine.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    findings.push(Finding { what: "Python", level: Level::Good, detail: versions.join(", ") });
    let device = [&machine.cpu, &machine.device, &machine.driver];
    let device: Vec<&str> = device.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    findings.push(Finding { what: "device", level: Level::Good, detail: device.join(", ") });

    let texts = SampleTexts {
        path: "doctor",
        model: MODEL,
        weight_meta: WEIGHT_META,
        input_meta: None,
        graph_net: None,
        constraints: None,
        graph_hash: None,
    };
    let sample = Sample::parse(&texts).context("the built-in graph")?;
    let id = GraphId { task: "doctor".to_owned(), graph: "linear-gelu-add".to_owned() };
    let sample = GraphSample::new(id, sample.graph, sample.tensors);
    eprintln!("evaluating a graph …");
    let verdict = referee.evaluate(&sample, &Candidate::Eager)?.verdict;

    let reason = verdict.reason.as_ref().map(|reason| reason.message.clone()).unwrap_or_default();
    let level = match verdict.status {
        Status::Correct => Level::Good,
        Status::Unstable => Level::Limited,
        _ => Level::Unfit,
    };
    let overhead = verdict.cost.wall_ns.saturating_sub(verdict.cost.trials_ns) as f64;
    let detail = match level {
        Level::Good => format!("works; {} in addition to the trials", duration(overhead)),
        _ => format!("{}: {reason}", verdict.status.name()),
    };
    findings.push(Finding { what: "evaluation", level, detail });
    if let Some(timing) = verdict.scored_timing() {
        let interval = timing.speedup;
        let covers_one = interval.low <= 1.0 && interval.high >= 1.0;
        findings.push(Finding {
            what: "timing (A/A)",
            level: if covers_one { Level::Good } else { Level::Limited },
            detail: format!(
                "eager against itself {:.3} [{:.3}, {:.3}] at {}",
                interval.ratio,
                interval.low,
                interval.high,
                duration(timing.base.median_ns)
            ),
        });
    }
    eprintln!("trying the sandbox …");
    let proof = probe::prove(&referee).context("the proof of the sandbox")?;
    describe_sandbox(&proof, findings);
    Ok(proof)
}

/// Adds findings about the attempts of hostile workers and the needs of honest ones. `--json` has every attempt.
fn describe_sandbox(proof: &Proof, findings: &mut Vec<Finding>) {
    let missing: Vec<String> = proof
        .layers
        .iter()
        .filter(|(_, level)| *level != "enforced")
        .map(|(layer, level)| format!("{layer} {level}"))
        .collect();
    let (level, detail) = match missing.is_empty() {
        true => (Level::Good, proof.layers.keys().map(String::as_str).collect::<Vec<_>>().join(", ")),
        false => (Level::Limited, missing.join("; ")),
    };
    findings.push(Finding { what: "sandbox layers", level, detail });

    let closed = proof.ways_out.iter().filter(|attempt| attempt.good).count();
    let (level, mut detail) = match closed == proof.ways_out.len() {
        true => (Level::Good, format!("all {closed} ways out are closed")),
        false => (Level::Limited, format!("{closed} of {} ways out are closed", proof.ways_out.len())),
    };
    let [confined, free] = proof.start_ns;
    detail += &format!("; a worker starts in {}, without in {}", duration(confined as f64), duration(free as f64));
    findings.push(Finding { what: "sandbox", level, detail });
    for attempt in proof.ways_out.iter().filter(|attempt| !attempt.good) {
        let detail = format!("a pass can {}: {}; evaluate only passes that you trust", attempt.what, attempt.detail);
        findings.push(Finding { what: "way out", level: Level::Limited, detail });
    }
    for attempt in &proof.needs {
        let (level, what) = if attempt.good { (Level::Good, "works") } else { (Level::Limited, "does not work") };
        let detail = format!("{}: {what}: {}", attempt.what, attempt.detail.lines().next().unwrap_or_default());
        findings.push(Finding { what: "inside the sandbox", level, detail });
    }
}
