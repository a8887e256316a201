//! Evaluations of real graphs by real workers.

#![allow(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use crate::common::{graph, referee};
use passnet_eval::{Candidate, Defences, Referee, RefereeOptions, settings};
use passnet_record::{Baseline, Device, ExecutionPath, Mode, ORDER_FILE, PassDirectory, Remark, RunSettings, Status};

const LINEAR_GELU: &str = r#"{"version": 1, "inputs": ["x", "w", "b"], "nodes": [
    {"name": "linear", "op": "call_function", "target": "torch.nn.functional.linear",
     "args": [{"ref": 0}, {"ref": 1}, {"ref": 2}], "kwargs": []},
    {"name": "gelu", "op": "call_function", "target": "torch.nn.functional.gelu", "args": [{"ref": 3}], "kwargs": []}],
    "outputs": [{"ref": 4}]}"#;

#[test]
fn eager_against_itself_is_correct_and_equal() {
    let Some(referee) = referee(|settings| settings.trials = 20) else { return };
    let sample = graph(LINEAR_GELU, &[("x", &[4, 16]), ("w", &[8, 16]), ("b", &[8])]);
    let evaluation = referee.evaluate(&sample, &Candidate::Eager).unwrap();
    let verdict = evaluation.verdict;
    assert!(matches!(verdict.status, Status::Correct | Status::Unstable), "{:?}", verdict.reason);
    assert_eq!(verdict.tolerance, Some(-10));
    assert!(verdict.outputs.iter().all(|output| output.equal));
    let float64 = verdict.outputs[0].float64.unwrap();
    assert!(float64.accepted && float64.eager == float64.candidate && float64.eager.max > Some(0.0), "{float64:?}");
    let timing = verdict.scored_timing().unwrap();
    assert_eq!((timing.path, timing.base.trials), (ExecutionPath::Direct, timing.candidate.trials));
    // There are 20 trials, and 20 more for each measurement that a busy machine made unstable and that was repeated.
    assert!(timing.base.trials >= 20 && timing.base.trials % 20 == 0, "{}", timing.base.trials);
    assert!(verdict.control_timing().is_some() && verdict.evidence.timed_calls_checked > 0);
    assert!(verdict.evidence.notes.is_empty(), "{:?}", verdict.evidence.notes);
}

const ADD_RELU: &str = r#"{"version": 1, "inputs": ["x", "y"], "nodes": [
    {"name": "add", "op": "call_function", "target": "operator.add", "args": [{"ref": 0}, {"ref": 1}], "kwargs": []},
    {"name": "relu", "op": "call_function", "target": "torch.nn.functional.relu", "args": [{"ref": 2}], "kwargs": []}],
    "outputs": [{"ref": 3}]}"#;

/// Returns a pass for `ADD_RELU`. `body` is the body of its replacement, which can use a kernel `add_relu(x, y, out, n)`.
fn add_relu_pass(body: &str) -> Candidate {
    pass(&add_relu_source(body))
}

fn add_relu_source(body: &str) -> String {
    format!(
        r#"
import torch
from passnet import kernels

SOURCE = """
void add_relu(const float* x, const float* y, float* out, int64_t n) {{
    for (int64_t i = 0; i < n; ++i) {{ float v = x[i] + y[i]; out[i] = v < 0 ? 0 : v; }}
}}
"""
add_relu = kernels.cpp(SOURCE, "void add_relu(const float* x, const float* y, float* out, int64_t n);")
memory = {{}}

def pattern(x, y):
    return torch.nn.functional.relu(x + y)

def replacement_args(x, y):
    return (x, y)

def fused(x, y):
{body}

def replacement_func():
    return fused
"#
    )
}

fn pass(text: &str) -> Candidate {
    Candidate::Passes(PassDirectory::new([("fuse.py", text), (ORDER_FILE, r#"["fuse"]"#)]).unwrap())
}

const HONEST: &str = "    out = torch.empty_like(x)\n    add_relu(x, y, out, x.numel())\n    return out";

#[test]
fn passes_are_judged_by_what_they_do() {
    // Many rounds are needed: time counts as hidden only if it occurs in all rounds, and with few rounds a busy machine looks like a
    // cheat.
    let Some(referee) = referee(|settings| settings.rounds = 10) else { return };
    let sample = graph(ADD_RELU, &[("x", &[32, 65]), ("y", &[32, 65])]);
    let indent = |lines: &[&str]| lines.iter().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n");
    let wrong_scale = HONEST.replace("return out", "return out.mul_(2)");
    for (name, body, status, code) in [
        ("torch", "    return torch.relu(x + y)".to_owned(), Status::Integrity, "forbidden_operator"),
        ("scale", wrong_scale, Status::Integrity, "forbidden_operator"),
        ("in place", indent(&["add_relu(x, y, x, x.numel())", "return x"]), Status::Integrity, "input_mutated"),
        (
            "half",
            indent(&["out = torch.empty_like(x)", "add_relu(x, y, out, x.numel() // 2)", "return out"]),
            Status::Accuracy,
            "output_differs",
        ),
        (
            "memory",
            indent(&[
                "if 0 not in memory:",
                "    memory[0] = torch.empty_like(x)",
                "    add_relu(x, y, memory[0], x.numel())",
                "return memory[0]",
            ]),
            Status::Accuracy,
            "output_differs",
        ),
        (
            "columns",
            indent(&["out = torch.empty_strided(x.shape, (1, x.shape[0]))", "return out"]),
            Status::LayoutDiffers,
            "layout_differs",
        ),
        ("raises", "    raise ValueError('too bad')".to_owned(), Status::RuntimeError, "raised"),
        ("syntax", "    return (".to_owned(), Status::CompileError, "import_failed"),
    ] {
        let verdict = referee.evaluate(&sample, &add_relu_pass(&body)).unwrap().verdict;
        let reason = verdict.reason.unwrap();
        assert!(
            verdict.status == status && reason.code == code || name == "half" && verdict.status == Status::NonFinite,
            "{name}: {:?} {reason:?}",
            verdict.status
        );
    }

    let verdict = referee.evaluate(&sample, &add_relu_pass(HONEST)).unwrap().verdict;
    println!("{}", serde_json::to_string(&verdict).unwrap());
    assert!(matches!(verdict.status, Status::Correct | Status::Unstable), "{:?}", verdict.reason);
    assert!(verdict.outputs[0].equal);
    assert_eq!(verdict.evidence.matches, [("fuse".to_owned(), 1)]);
    let paths: Vec<_> = verdict.timings.iter().map(|timing| (timing.path, timing.baseline)).collect();
    let (direct, compiled) = (ExecutionPath::Direct, ExecutionPath::Compiled);
    let all = [
        (direct, Baseline::Eager),
        (direct, Baseline::Control),
        (compiled, Baseline::Eager),
        (compiled, Baseline::Control),
    ];
    assert_eq!(paths, all, "{:?}", verdict.evidence.notes);

    let other = graph(LINEAR_GELU, &[("x", &[4, 16]), ("w", &[8, 16]), ("b", &[8])]);
    let verdict = referee.evaluate(&other, &add_relu_pass(HONEST)).unwrap().verdict;
    assert_eq!(verdict.status, Status::NoMatch, "{:?}", verdict.reason);
    assert!(verdict.reason.unwrap().message.contains("`fuse`"));
}

#[test]
fn nan_has_to_come_out_where_the_graph_gives_it() {
    let Some(referee) = referee(|settings| settings.trials = 4) else { return };
    let sample = graph(ADD_RELU, &[("x", &[8, 8]), ("y", &[8, 8])]);
    let source = add_relu_source(HONEST).replace("v < 0 ? 0 : v", "v > 0 ? v : 0");
    let verdict = referee.check(&sample, &pass(&source)).unwrap();
    let reason = verdict.reason.unwrap();
    assert_eq!((verdict.status, reason.code.as_str()), (Status::Accuracy, "adversarial_differs"), "{reason:?}");
    assert!(reason.message.contains("`non_finite`") && reason.message.contains("expected NaN"), "{reason:?}");
}

/// In eager mode `(large + y) - large` loses most digits of y.
const CANCELS: &str = r#"{"version": 1, "inputs": ["x", "y"], "nodes": [
    {"name": "large", "op": "call_function", "target": "operator.mul", "args": [{"ref": 0}, 100000000], "kwargs": []},
    {"name": "sum", "op": "call_function", "target": "operator.add", "args": [{"ref": 2}, {"ref": 1}], "kwargs": []},
    {"name": "sub", "op": "call_function", "target": "operator.sub", "args": [{"ref": 3}, {"ref": 2}], "kwargs": []}],
    "outputs": [{"ref": 4}]}"#;

#[test]
fn a_result_closer_to_float64_than_eager_is_right_in_sound_mode_only() {
    let source = r#"
import torch
from passnet import kernels

copy = kernels.cpp("void copy(const float* y, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = y[i]; }",
                   "void copy(const float* y, float* out, int64_t n)")

def pattern(x, y):
    large = x * 100000000
    return large + y - large

def replacement_args(x, y):
    return (y,)

def fused(y):
    out = torch.empty_like(y)
    copy(y, out, y.numel())
    return out

def replacement_func():
    return fused
"#;
    for (mode, status) in [(Mode::Sound, Status::Correct), (Mode::Paper, Status::Accuracy)] {
        let adjust = |settings: &mut RunSettings| {
            // Only the random content is used, because infinities cannot cancel.
            (settings.mode, settings.adversarial) = (mode, Vec::new());
        };
        let Some(referee) = referee(adjust) else { return };
        let sample = graph(CANCELS, &[("x", &[16, 16]), ("y", &[16, 16])]);
        let verdict = referee.check(&sample, &pass(source)).unwrap();
        assert_eq!(verdict.status, status, "{:?}", verdict.reason);
        assert!(verdict.outputs[0].tolerance.is_none_or(|t| t > -2), "against eager");
        let accepted = verdict.evidence.notes.contains(&Remark::AcceptedByFloat64 { output: 0 });
        assert_eq!((accepted, verdict.outputs[0].float64.is_some()), (mode == Mode::Sound, mode == Mode::Sound));
        assert!(mode == Mode::Paper || verdict.tolerance == Some(-2));
    }
}

#[test]
fn unused_work_is_not_a_task() {
    let Some(referee) = referee(|_| ()) else { return };
    let sample =
        graph(&ADD_RELU.replace(r#""outputs": [{"ref": 3}]"#, r#""outputs": []"#), &[("x", &[8]), ("y", &[8])]);
    let verdict = referee.evaluate(&sample, &Candidate::Noop).unwrap().verdict;
    let reason = verdict.reason.unwrap();
    assert_eq!((verdict.status, reason.code.as_str()), (Status::ReferenceError, "unseen_results"), "{reason:?}");
}

#[test]
fn a_check_is_not_timed_and_a_profile_tells_what_runs() {
    let Some(referee) = referee(|settings| settings.check_rounds = 1) else { return };
    let sample = graph(ADD_RELU, &[("x", &[8, 9]), ("y", &[8, 9])]);
    let (verdict, honest) = (referee.check(&sample, &add_relu_pass(HONEST)).unwrap(), add_relu_pass(HONEST));
    assert_eq!((verdict.status, verdict.timings.len()), (Status::Correct, 0), "{:?}", verdict.reason);

    let names = |candidate: &Candidate| {
        let profile = referee.profile(&sample, candidate).unwrap().unwrap();
        profile.host.into_iter().map(|row| row.name).collect::<Vec<_>>()
    };
    let (eager, rewritten) = (names(&Candidate::Eager), names(&honest));
    assert!(eager.iter().any(|name| name == "aten::add"), "{eager:?}");
    for name in ["replacement fused", "kernel add_relu"] {
        assert!(rewritten.iter().any(|row| row == name), "{rewritten:?}");
    }
}

#[test]
fn threads_that_spin_after_a_parallel_loop_are_not_work_outside_of_calls() {
    let set = |settings: &mut RunSettings| (settings.threads, settings.rounds) = (2, 10);
    let Some(referee) = referee(set) else { return };
    // PyTorch computes the exponential in two threads, on both sides.
    let exponential = r#"{"name": "exp", "op": "call_function", "target": "torch.exp", "args": [{"ref": 3}], "kwargs": []}],
    "outputs": [{"ref": 4}]}"#;
    let wire = ADD_RELU.replace("}],\n    \"outputs\": [{\"ref\": 3}]}", &format!("}},\n    {exponential}"));
    let sample = graph(&wire, &[("x", &[256, 256]), ("y", &[256, 256])]);
    let verdict = referee.evaluate(&sample, &add_relu_pass(HONEST)).unwrap().verdict;
    assert!(matches!(verdict.status, Status::Correct | Status::Unstable), "{:?}", verdict.reason);
}

#[test]
fn arguments_are_handed_on_and_not_computed() {
    let Some(referee) = referee(|settings| settings.trials = 4) else { return };
    let sample = graph(ADD_RELU, &[("x", &[8, 8]), ("y", &[8, 8])]);
    let source = add_relu_source(HONEST).replace("return (x, y)", "return (torch.relu(x), y)");
    let verdict = referee.evaluate(&sample, &pass(&source)).unwrap().verdict;
    let reason = verdict.reason.unwrap();
    assert_eq!((verdict.status, reason.code.as_str()), (Status::Integrity, "computes_in_args"), "{reason:?}");
    assert!(reason.message.contains("`fuse`") && reason.message.contains("relu"), "{reason:?}");
}

#[test]
fn source_is_checked_before_anything_runs() {
    let Some(interpreter) = crate::common::interpreter() else { return };
    let options = RefereeOptions {
        zygote: passnet_eval::ZygoteConfig::from(interpreter),
        defences: Defences::ALL,
        cache: None,
        jobs: 1,
    };
    let quick = RunSettings { trials: 4, warmup: 1, rounds: 2, max_remeasure: 0, ..settings::sound(Device::Cpu) };
    let referee = Referee::new(quick, options).unwrap();
    let sample = graph(ADD_RELU, &[("x", &[8, 8]), ("y", &[8, 8])]);
    let verdict = referee.evaluate(&sample, &add_relu_pass("    return torch.relu(x + y)")).unwrap().verdict;
    let reason = verdict.reason.unwrap();
    assert_eq!(verdict.status, Status::Integrity);
    assert!(reason.code.starts_with("PN") && reason.message.contains("fuse.py:"), "{reason:?}");
}

const DROPOUT_INPLACE: &str = r#"{"version": 1, "inputs": ["x"], "nodes": [
    {"name": "dropout", "op": "call_function", "target": "torch.nn.functional.dropout", "args": [{"ref": 0}, 0.5, true],
     "kwargs": []},
    {"name": "add_", "op": "call_method", "target": "add_", "args": [{"ref": 0}, 1], "kwargs": []}],
    "outputs": [{"ref": 1}]}"#;

#[test]
fn graphs_that_draw_numbers_and_change_inputs_are_judged_all_the_same() {
    let Some(referee) = referee(|_| ()) else { return };
    let sample = graph(DROPOUT_INPLACE, &[("x", &[16, 16])]);
    let verdict = referee.evaluate(&sample, &Candidate::Noop).unwrap().verdict;
    assert!(matches!(verdict.status, Status::Correct | Status::Unstable), "{:?}", verdict.reason);
    assert_eq!(verdict.evidence.mutated_inputs, ["x"]);
    assert_eq!(verdict.outputs.len(), 2);
    assert!(verdict.outputs.iter().all(|output| output.equal), "{:?}", verdict.outputs);
}

#[test]
fn a_broken_graph_costs_only_itself() {
    let Some(referee) = referee(|_| ()) else { return };
    let sample = graph(ADD_RELU, &[("x", &[3, 4]), ("y", &[5, 6])]);
    let verdict = referee.evaluate(&sample, &Candidate::Eager).unwrap().verdict;
    assert_eq!(verdict.status, Status::ReferenceError);
    assert!(verdict.reason.unwrap().message.contains("RuntimeError"));
    let huge = graph(ADD_RELU, &[("x", &[1 << 40]), ("y", &[1])]);
    let verdict = referee.evaluate(&huge, &Candidate::Eager).unwrap().verdict;
    assert_eq!(verdict.reason.unwrap().code, "inputs_too_large");
    let good = graph(ADD_RELU, &[("x", &[3, 4]), ("y", &[3, 4])]);
    let verdict = referee.evaluate(&good, &Candidate::Eager).unwrap().verdict;
    assert!(matches!(verdict.status, Status::Correct | Status::Unstable), "{:?}", verdict.reason);
}
