//! Checks of an installation, made by using it: the interpreter, one evaluation, the sandbox.

use std::{path::PathBuf, process::Command};

use passnet_eval::{
    Candidate, Referee,
    probe::{self, Proof},
};
use passnet_graphnet::sample::{Sample, SampleTexts};
use passnet_record::{GraphId, Status, TextTable, Verdict, duration};
use passnet_run::GraphSample;
use passnet_services::{Interpreter, InterpreterSource, Packages, cpp_compiler};
use serde::Serialize;

use crate::AttackError;

/// A graph with one op of each common kind, which tests all steps of an evaluation.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The part works.
    Good,
    /// A part that only some evaluations need does not work.
    Limited,
    /// No evaluation can run.
    Unfit,
}

/// Result of one check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckResult {
    /// Name of the part that was checked.
    pub what: &'static str,
    pub level: Severity,
    /// Description of the result.
    pub detail: String,
}

/// Returns findings as a table for people.
pub fn finding_table(findings: &[CheckResult]) -> TextTable {
    let mut rows = TextTable::new(&["", "found", "detail"], 3);
    for finding in findings {
        let mark = match finding.level {
            Severity::Good => "ok",
            Severity::Limited => "limited",
            Severity::Unfit => "unfit",
        };
        rows.push([finding.what.to_owned(), mark.to_owned(), finding.detail.clone()]);
    }
    rows
}

/// Checks the interpreter, its packages and the compiler, without an evaluation.
pub fn check_installation() -> Vec<CheckResult> {
    let (interpreter, source) = Interpreter::find_with_source();
    match interpreter.packages() {
        Ok(packages) => vec![describe_interpreter(&interpreter, source), describe_packages(&packages), compiler()],
        // Without an interpreter there are no packages to check.
        Err(error) => {
            let detail = format!("cannot run {} ({source}): {error}; set PASSNET_PYTHON", interpreter.python.display());
            vec![CheckResult { what: "interpreter", level: Severity::Unfit, detail }, compiler()]
        }
    }
}

/// Returns the interpreter and the reason for its choice.
fn describe_interpreter(interpreter: &Interpreter, source: InterpreterSource) -> CheckResult {
    let package = interpreter.site.as_ref().map(|site| format!("; the package from {}, PASSNET_SITE", site.display()));
    let detail = format!("{} ({source}){}", interpreter.python.display(), package.unwrap_or_default());
    CheckResult { what: "interpreter", level: Severity::Good, detail }
}

/// Returns the packages of the interpreter, or those that cannot be used and how to install them.
fn describe_packages(packages: &Packages) -> CheckResult {
    let Packages { found, missing, broken } = packages;
    let (level, detail) = if !missing.is_empty() {
        (Severity::Unfit, format!("found {found}, but not {missing}; install it, or set PASSNET_PYTHON"))
    } else if !broken.is_empty() {
        let advice = "install the package again, or set PASSNET_PYTHON";
        (Severity::Unfit, format!("found {found}, but {broken}; {advice}"))
    } else {
        (Severity::Good, found.clone())
    };
    CheckResult { what: "packages", level, detail }
}

/// Checks the C++ compiler, which only C++ passes need.
fn compiler() -> CheckResult {
    let version = |compiler: PathBuf| match Command::new(&compiler).arg("--version").output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
        }
        _ => Err(format!("{} does not run", compiler.display())),
    };
    let (level, detail) = match cpp_compiler().and_then(version) {
        Ok(detail) => (Severity::Good, detail),
        Err(problem) => (
            Severity::Limited,
            format!("{problem}; passes with C++ kernels and TorchInductor on a CPU need a C++ compiler"),
        ),
    };
    CheckResult { what: "C++ compiler", level, detail }
}

/// Evaluates eager mode against itself, which must be correct with a ratio of 1, and lets workers try to leave the sandbox. Adds
/// the results to `findings`, which keeps them if there is an error later.
///
/// # Errors
/// If the fork server does not work.
pub fn check_evaluation(
    referee: &Referee,
    findings: &mut Vec<CheckResult>,
    progress: &dyn Fn(&str),
) -> Result<Proof, AttackError> {
    describe_machine(referee, findings);
    progress("evaluating a graph …");
    let verdict = referee.evaluate(&sample()?, &Candidate::Eager)?.verdict;
    describe_verdict(&verdict, findings);
    progress("trying the sandbox …");
    let proof = probe::prove(referee)?;
    describe_sandbox(&proof, findings);
    Ok(proof)
}

fn describe_machine(referee: &Referee, findings: &mut Vec<CheckResult>) {
    let machine = referee.fingerprint();
    let versions: Vec<String> = machine.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    findings.push(CheckResult { what: "Python", level: Severity::Good, detail: versions.join(", ") });
    let device = [&machine.cpu, &machine.device, &machine.driver];
    let device: Vec<&str> = device.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    findings.push(CheckResult { what: "device", level: Severity::Good, detail: device.join(", ") });
}

/// Returns the built-in graph as a sample.
fn sample() -> Result<GraphSample, AttackError> {
    let texts = SampleTexts {
        path: "doctor",
        model: MODEL,
        weight_meta: WEIGHT_META,
        input_meta: None,
        graph_net: None,
        constraints: None,
        graph_hash: None,
    };
    let sample = Sample::parse(&texts)
        .map_err(|error| AttackError::Entry { path: "doctor".into(), message: error.to_string() })?;
    let id = GraphId { task: "doctor".to_owned(), graph: "linear-gelu-add".to_owned() };
    Ok(GraphSample::new(id, sample.graph, sample.tensors))
}

fn describe_verdict(verdict: &Verdict, findings: &mut Vec<CheckResult>) {
    let reason = verdict.reason.as_ref().map(|reason| reason.message.clone()).unwrap_or_default();
    let level = match verdict.status {
        Status::Correct => Severity::Good,
        Status::Unstable => Severity::Limited,
        _ => Severity::Unfit,
    };
    let overhead = verdict.cost.wall_ns.saturating_sub(verdict.cost.trials_ns) as f64;
    let detail = match level {
        Severity::Good => format!("works; takes {} in addition to the timed calls", duration(overhead)),
        _ => format!("{}: {reason}", verdict.status.name()),
    };
    findings.push(CheckResult { what: "evaluation", level, detail });
    if let Some(timing) = verdict.scored_timing() {
        let interval = timing.speedup;
        let covers_one = interval.low <= 1.0 && interval.high >= 1.0;
        findings.push(CheckResult {
            what: "timing (A/A)",
            level: if covers_one { Severity::Good } else { Severity::Limited },
            detail: format!(
                "eager against itself {:.3} [{:.3}, {:.3}] at {}",
                interval.ratio,
                interval.low,
                interval.high,
                duration(timing.base.median_ns)
            ),
        });
    }
}

/// Adds findings about the attempts of hostile workers and the needs of honest workers. The output of `--json` lists every
/// attempt.
fn describe_sandbox(proof: &Proof, findings: &mut Vec<CheckResult>) {
    let missing: Vec<String> = proof
        .layers
        .iter()
        .filter(|(_, level)| *level != "enforced")
        .map(|(layer, level)| format!("{layer} {level}"))
        .collect();
    let (level, detail) = match missing.is_empty() {
        true => (Severity::Good, proof.layers.keys().map(String::as_str).collect::<Vec<_>>().join(", ")),
        false => (Severity::Limited, missing.join("; ")),
    };
    findings.push(CheckResult { what: "sandbox layers", level, detail });

    let closed = proof.ways_out.iter().filter(|attempt| attempt.good).count();
    let (level, mut detail) = match closed == proof.ways_out.len() {
        true => (Severity::Good, format!("all {closed} escape routes are closed")),
        false => (Severity::Limited, format!("{closed} of {} escape routes are closed", proof.ways_out.len())),
    };
    let [confined, free] = proof.start_ns;
    detail += &format!(
        "; a worker starts in {}, without the sandbox in {}",
        duration(confined as f64),
        duration(free as f64)
    );
    findings.push(CheckResult { what: "sandbox", level, detail });
    for attempt in proof.ways_out.iter().filter(|attempt| !attempt.good) {
        let detail = format!("a pass can {}: {}; evaluate only passes that you trust", attempt.what, attempt.detail);
        findings.push(CheckResult { what: "way out", level: Severity::Limited, detail });
    }
    for attempt in &proof.needs {
        let (level, what) = if attempt.good { (Severity::Good, "works") } else { (Severity::Limited, "does not work") };
        let detail = format!("{}: {what}: {}", attempt.what, attempt.detail.lines().next().unwrap_or_default());
        findings.push(CheckResult { what: "inside the sandbox", level, detail });
    }
}
