//! The command as a user runs it. Tests that need PyTorch print a reason and skip if `PASSNET_PYTHON` is not set.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::process::Command;

use serde_json::Value;

use crate::{has_torch, passnet};

fn check(arguments: &[&str], code: i32) -> (String, String) {
    let output = passnet(arguments);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{err}");
    (out, err)
}

const LOG: &str = "\
[Processing] samples/one
[Datatype][eager]: float32
[Datatype][compiled]: float32
[DataType] eager:['float32'] compiled:['float32'] match:True
[Shape] eager:[[2]] compiled:[[2]] match:True
[Correctness][equal]: 1
[Correctness][all_close_atol_1.00E-05_rtol_1.30E-06]: 1
[Speedup][e2e]: 2.0
";

#[test]
fn wrong_use_leaves_with_2_and_a_missing_environment_with_3() {
    check(&["bench", "run", "suites/demo", "--author", "gpt"], 2);
    check(&["eval", "suites/demo"], 2);
    check(&["serve", "--env", "suites/demo", "runs"], 2);
    let (_, message) = check(&["serve", "--env", "suites/demo", "--host", "0.0.0.0"], 2);
    assert!(message.contains("loopback"), "{message}");
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_passnet"));
    let output = doctor.args(["doctor", "--json"]).env("PASSNET_PYTHON", "/nonexistent/python").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(findings["findings"].as_array().unwrap().iter().any(|finding| finding["level"] == "unfit"));
}

#[test]
fn a_log_is_scored_and_garbage_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("evaluation.log");
    std::fs::write(&log, LOG).unwrap();
    let (out, _) = check(&["score", log.to_str().unwrap(), "--format", "json"], 0);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((report["graphs"].as_u64(), report["schema_version"].as_u64()), (Some(1), Some(1)));

    std::fs::write(&log, "nothing of the kind\n").unwrap();
    let (_, err) = check(&["score", log.to_str().unwrap()], 2);
    assert!(err.contains("line 1") && err.contains("[Processing]"), "{err}");
}

#[test]
fn a_run_is_made_resumed_scored_and_reported() {
    if !has_torch() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let run = run.to_str().unwrap();
    let bench = |author: &str, code: i32| {
        let flags = ["--filter", "llama-rms-norm", "--graphs-per-task", "1", "--trials", "10", "--paths", "direct"];
        let mut arguments = vec!["bench", "run", "suites/demo", "--author", author, "--out", run];
        arguments.extend(flags);
        check(&arguments, code)
    };
    bench("dir:suites/demo/passes", 0);
    let (_, err) = bench("dir:suites/demo/passes", 0);
    assert!(err.contains("1 verdict reused"), "{err}");
    let (_, err) = bench("noop", 2);
    assert!(err.contains("started with author") && !err.contains("evaluating"), "{err}");

    let (out, _) = check(&["score", run, "--format", "json"], 0);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["correct"].as_u64(), Some(1), "{out}");
    let page = folder.path().join("report.html");
    check(&["report", run, "--html", page.to_str().unwrap()], 0);
    assert!(std::fs::read_to_string(page).unwrap().contains("llama-rms-norm"));
}

#[test]
fn a_verdict_has_the_overhead_of_the_blocks_of_both_sides() {
    if !has_torch() {
        return;
    }
    let flags = ["--author", "eager", "--paths", "direct", "--trials", "10", "--json"];
    // The exit code says whether the times settled, which a busy machine may prevent.
    let output = passnet(&[&["eval", "suites/demo/gpt2-gelu-tanh"], flags.as_slice()].concat());
    let evaluation: Value = serde_json::from_slice(&output.stdout).unwrap();
    let timings = evaluation["verdicts"][0]["timings"].as_array().unwrap();
    assert!(!timings.is_empty(), "{evaluation}");
    for side in timings.iter().flat_map(|timing| [&timing["base"], &timing["candidate"]]) {
        // A worker needs some time for a request and its reply, and its calls need the rest of the block.
        assert!(side["overhead"].as_f64().is_some_and(|share| 0.0 < share && share < 1.0), "{side}");
    }
}

#[test]
fn one_task_is_evaluated_and_a_miss_says_where() {
    if !has_torch() {
        return;
    }
    let task = "suites/demo/gpt2-gelu-tanh";
    let flags = ["--passes", "suites/demo/passes/llama-rms-norm", "--paths", "direct", "--trials", "10", "--json"];
    let (out, _) = check(&[&["eval", task], flags.as_slice()].concat(), 1);
    let evaluation: Value = serde_json::from_str(&out).unwrap();
    let verdict = &evaluation["verdicts"][0];
    assert_eq!(verdict["status"], "no_match");
    assert!(verdict["reason"]["message"].as_str().unwrap().contains("rms_norm"), "{verdict}");
}

#[test]
fn models_are_captured_once_and_a_name_without_match_is_wrong_usage() {
    if !has_torch() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("mine.py"), folder.path().join("out"));
    let text = "import torch\n\ndef build():\n    return torch.nn.Linear(4, 8), (torch.randn(2, 4),)\n\n\
                def fails():\n    raise ValueError('no weights')\n";
    std::fs::write(&file, text).unwrap();
    let (build, fails) = (format!("{}:build", file.display()), format!("{}:fails", file.display()));
    let extract = |models: &[&str], code: i32| {
        let flags = ["extract", "--out", out.to_str().unwrap(), "--jobs", "1", "--json"];
        let (out, _) = check(&[flags.as_slice(), models].concat(), code);
        serde_json::from_str::<Value>(&out).unwrap()
    };
    let library = "torchvision:squeezenet1_1";
    let first = extract(&[&build, &fails, library], 1);
    let status = |summary: &Value, spec: &str| {
        let models = summary["models"].as_array().unwrap();
        models.iter().find(|model| model["spec"] == spec).unwrap()["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status(&first, &build), "ok");
    assert_eq!(status(&first, &fails), "build_failed");
    assert!(out.join("mine/build/graph_net.json").is_file());
    if status(&first, library) == "ok" {
        let again = extract(&[library], 0);
        assert_eq!((again["captured"].as_u64(), again["reused"].as_u64()), (Some(1), Some(1)), "{again}");
    } else {
        println!("skipped: torchvision is not installed");
    }
    assert_eq!(status(&extract(&["nowhere:x"], 2), "nowhere:x"), "unknown_model");
}

/// Before, an empty table and the same error three times.
#[test]
fn a_model_server_that_does_not_answer_is_named_without_a_table() {
    if !has_torch() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let model = ["agent", "run", "suites/demo", "--filter", "gpt2-gelu-tanh", "--model", "m"];
    let server = ["--base-url", "http://127.0.0.1:1/v1", "--out", out.to_str().unwrap()];
    let (printed, said) = check(&[model.as_slice(), &server].concat(), 3);
    assert!(printed.is_empty(), "{printed}");
    assert!(
        said.contains("error: there is no server at http://127.0.0.1:1/v1") && !said.contains("could not"),
        "{said}"
    );
}
