//! `passnet agent` and `passnet traj` as a user meets them: real HTTP, real passes, real PyTorch.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]
#![allow(clippy::print_stdout, reason = "a skipped test says why")]

#[path = "../../passnet-agent/tests/server/mod.rs"]
mod server;

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use server::{Answer, Server, create, evaluate, is_task, says, turn};

/// Tasks with hand-written passes; the first goes through every kind of failure.
const TASKS: [&str; 2] = ["gpt2-gelu-tanh", "fcos-box-decode"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passnet"));
    command.args(arguments).current_dir(root());
    command
}

fn passnet(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn json_lines(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The hand-written passes of a task, as calls that create them.
fn good(task: &str) -> Vec<(&'static str, Value)> {
    let mut files: Vec<_> =
        std::fs::read_dir(root().join("suites/demo/passes").join(task)).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files
        .iter()
        .map(|path| create(path.file_name().unwrap().to_str().unwrap(), &std::fs::read_to_string(path).unwrap()))
        .collect()
}

/// No match, a wrong result, a breach of the rules, then the honest pass; or the honest pass at once.
fn script(request: &Value) -> Answer {
    let task = *TASKS.iter().find(|task| is_task(request, task)).unwrap();
    let replace = |old: &str, new: &str| {
        (
            "file_editor",
            json!({"command": "str_replace", "path": "/passes/fuse_gelu_tanh.py", "old_str": old, "new_str": new}),
        )
    };
    let calls = match (task == TASKS[0], turn(request)) {
        (_, 0) => vec![("graph_info", json!({}))],
        (false, 1) | (true, 9) => [good(task), vec![evaluate()]].concat(),
        (true, 1) => good(task),
        (true, 2) => vec![replace("torch.tanh(inner)", "torch.sigmoid(inner)"), evaluate()],
        (true, 3) => vec![replace("torch.sigmoid(inner)", "torch.tanh(inner)")],
        (true, 4) => vec![replace("y[i] *= 0.044715f", "y[i] *= 0.5f"), evaluate()],
        (true, 5) => vec![replace("y[i] *= 0.5f", "y[i] *= 0.044715f")],
        (true, 6) => vec![replace("    return out\n", "    return torch.tanh(out)\n"), evaluate()],
        (true, 7) => vec![("file_editor", json!({"command": "view", "path": "../../etc/passwd"}))],
        (true, 8) => vec![("file_editor", json!({"command": "delete", "path": "fuse_gelu_tanh.py"}))],
        _ => Vec::new(),
    };
    std::thread::sleep(Duration::from_millis(30));
    says("", &calls)
}

#[test]
fn tasks_killed_resumed_replayed_and_exported() {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    let server = Server::start(|_, request| script(request));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let out_text = out.to_str().unwrap();
    let measure = ["--trials", "10", "--warmup", "1", "--paths", "direct"];
    let mut arguments =
        vec!["agent", "run", "suites/demo", "--model", "scripted", "--base-url", &server.url, "--out", out_text];
    arguments.extend(["--graphs-per-task", "1", "--key-env", "TEST_AGENT_KEY"]);
    arguments.extend(measure);
    arguments.extend(TASKS.iter().flat_map(|task| ["--filter", task]));

    // Killed outright while evaluations are going on.
    let mut child = command(&arguments)
        .env("TEST_AGENT_KEY", "sk-hidden")
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = || server.seen.lock().unwrap().len();
    while begun() < 5 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!out.join("trajectories.jsonl").exists());
    let before = begun();

    let output = command(&arguments).env("TEST_AGENT_KEY", "sk-hidden").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}");
    // Eleven replies of the long story, three of the other; at most the one in flight of each attempt is asked for again.
    let asked = begun();
    assert!(asked <= 11 + 3 + 2 && before >= 5, "{before} requests, then {asked}");
    let trajectories = json_lines(&out.join("trajectories.jsonl"));
    assert_eq!(trajectories.len(), TASKS.len());
    let story = trajectories.iter().find(|t| t["task"]["id"] == TASKS[0]).unwrap();
    let steps = story["steps"].as_array().unwrap();
    let evaluations =
        steps.iter().flat_map(|step| step["tools"].as_array().unwrap()).filter_map(|tool| tool.get("evaluation"));
    let statuses: Vec<&str> = evaluations.map(|e| e["graphs"][0]["status"].as_str().unwrap()).collect();
    assert_eq!(statuses[..3], ["no_match", "accuracy", "integrity"]);
    assert!(!story["findings"].as_array().unwrap().is_empty(), "the cheat is labelled");
    for trajectory in &trajectories {
        let status = trajectory["evaluation"]["graphs"][0]["status"].as_str().unwrap();
        assert!(status == "correct" || status == "unstable", "{}: {status}", trajectory["task"]["id"]);
    }
    let everything = walk(&out);
    assert!(
        everything.iter().all(|bytes| !String::from_utf8_lossy(bytes).contains("sk-hidden")),
        "the key is written nowhere"
    );

    let replayed = passnet(
        &[&["agent", "replay", out_text, "--suite", "suites/demo", "--only", "fcos"], measure.as_slice()].concat(),
    );
    assert!(String::from_utf8_lossy(&replayed.stdout).contains("fcos-box-decode"), "{replayed:?}");
    exports(&out, folder.path());
}

/// Everything that is made of trajectories.
fn exports(run: &Path, folder: &Path) {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let run = run.to_str().unwrap();
    let good = |arguments: &[&str]| {
        let output = passnet(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let html = path("stats.html");
    let stats: Value = serde_json::from_str(&good(&["traj", "stats", run, "--json", "--html", &html])).unwrap();
    assert_eq!((&stats["attempts"], &stats["cheated"]), (&json!(2), &json!(1)));
    assert!(std::fs::read_to_string(html).unwrap().contains("<polyline"));
    assert!(good(&["traj", "filter", run, "--honest", "--out", &path("honest.jsonl")]).starts_with("1 kept"));
    assert!(good(&["traj", "dedup", run, run, "--out", &path("once.jsonl")]).starts_with("2 of 4"));
    let split = good(&["traj", "split", run, "--eval-suite", "suites/demo", "--out", &path("data")]);
    assert!(split.starts_with("0 for training, 0 for validation, 2 left out"), "{split}");
    good(&["traj", "export", run, "--format", "openai", "--out", &path("openai.jsonl")]);
    good(&["traj", "export", run, "--format", "sharegpt", "--out", &path("sharegpt.jsonl")]);
    good(&["traj", "export", run, "--format", "parquet", "--out", &path("t.parquet")]);
    let line = &json_lines(&folder.join("openai.jsonl"))[0];
    assert_eq!(line["messages"].as_array().unwrap().len(), line["loss_mask"].as_array().unwrap().len());
    assert_eq!(json_lines(&folder.join("sharegpt.jsonl"))[0]["conversations"][0]["from"], "system");
    let bad = passnet(&["traj", "stats", "Cargo.toml"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("Cargo.toml:1"));
}

fn walk(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![std::fs::read(path).unwrap()] }).collect()
}

#[test]
fn wrong_use_is_told_before_anything_starts() {
    let code = |arguments: &[&str]| passnet(arguments).status.code();
    assert_eq!(code(&["agent", "run", "suites/demo"]), Some(2));
    assert_eq!(code(&["agent", "run", "suites/demo", "--model", "m", "--base-url", "localhost"]), Some(2));
    assert_eq!(code(&["agent", "run", "suites/demo", "--model", "m", "--prompts", "/nowhere/at/all"]), Some(1));
    assert_eq!(code(&["agent", "run", "suites/demo", "--model", "m", "--key-file", "/nowhere/at/all"]), Some(1));
}
