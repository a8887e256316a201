//! `passnet optimize --author llm:MODEL` as a user meets it: a real model, real HTTP, and a stand-in for the language model.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    agent::server::{Answer, Server, create, evaluate, says, turn},
    has_torch,
    interrupt::interrupt,
    is_left_out, repository,
};

/// A model of three parts that the built-in author leaves alone. The first sorts rows of which it only needs the smallest element.
const MODEL: &str = "\
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(1, 512), torch.nn.Linear(512, 512)

    def forward(self, x):
        x = self.first(x.sort(-1).values.amin(-1, keepdim=True))
        x = self.second(x.msort())
        return x.topk(400).values

def build():
    torch.manual_seed(0)
    return Model().eval(), (torch.randn(256, 512),)
";

/// The smallest element of each row, without sorting.
const RIGHT: &str = r#"
import torch

from passnet import kernels


def pattern(x):
    return x.sort(-1)[0].amin(-1, keepdim=True)


def replacement_args(x):
    return (x,)


def replacement_func():
    return row_min


SOURCE = """
void row_min(const float* x, float* out, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r) {
        float least = x[r * width];
        for (int64_t i = 1; i < width; ++i) {
            float v = x[r * width + i];
            least = (v < least || v != v) ? v : least;
        }
        out[r] = least;
    }
}
"""
row_min_float = kernels.cpp(SOURCE, "void row_min(const float* x, float* out, int64_t rows, int64_t width)")


@kernels.prepared
def row_min(x):
    kernels.require(x, dtype=torch.float32, shape=(None, None))
    out = torch.empty((x.shape[0], 1), dtype=x.dtype, device=x.device)
    row_min_float(x, out, x.shape[0], x.shape[1])
    return out
"#;

/// Copies its input instead of sorting it.
const WRONG: &str = r#"
import torch

from passnet import kernels


def pattern(x):
    return x.msort()


def replacement_args(x):
    return (x,)


def replacement_func():
    return same


SOURCE = """
void same(const float* x, float* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) out[i] = x[i];
}
"""
same_float = kernels.cpp(SOURCE, "void same(const float* x, float* out, int64_t count)")


@kernels.prepared
def same(x):
    kernels.require(x, dtype=torch.float32, shape=(None, None))
    out = torch.empty_like(x)
    same_float(x, out, x.numel())
    return out
"#;

/// Writes right passes for the part that sorts, wrong ones for the part with `msort`, and only talks about the part with `topk`.
fn script(request: &Value) -> Answer {
    let messages = request["messages"].to_string();
    let order = |name: &str| create("sorted_output_pass_rule_names.json", &json!([name]).to_string());
    let calls = match turn(request) {
        0 if messages.contains("-msort") => vec![create("same.py", WRONG), order("same"), evaluate()],
        0 if messages.contains("-sort") => vec![create("row_min.py", RIGHT), order("row_min"), evaluate()],
        _ => Vec::new(),
    };
    says("The weather is nice.", &calls)
}

/// Returns a command that optimizes the model of the folder `home` with passes of a model on a server.
fn optimize(home: &Path, author: &str, url: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passnet"));
    std::fs::write(home.join("model.py"), MODEL).unwrap();
    command
        .args(["optimize", "model.py:build", "--out", "library", "--author", author, "--base-url", url])
        .args(["--trials", "10", "--warmup", "1", "--retries", "0"])
        .args(flags)
        .current_dir(home)
        .env("PASSNET_SITE", repository().join("python"))
        .env("PASSNET_CACHE", home.join("cache"));
    command
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Returns the task of the result whose name contains `part`.
fn task<'r>(result: &'r Value, part: &str) -> &'r Value {
    let tasks = result["authored"]["tasks"].as_array().unwrap();
    tasks.iter().find(|task| task["id"].as_str().unwrap().contains(part)).unwrap_or_else(|| panic!("{part}: {tasks:?}"))
}

#[test]
fn right_passes_of_a_language_model_are_used_and_wrong_ones_are_not() {
    if !has_torch() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(|_, request| script(request));
    let flags = ["--json", "--report", "report.html"];
    let output = optimize(home.path(), "llm:scripted", &server.url, &flags).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["authored"]["author"], "llm:scripted");
    assert_eq!(result["authored"]["attempts"], 3);
    assert_eq!(result["authored"]["input_tokens"], 100 * server.seen.lock().unwrap().len());

    let asked = server.seen.lock().unwrap()[0].body.to_string();
    assert!(asked.contains("A built-in author found no passes that make them faster"), "{asked}");

    let (right, wrong, nonsense) = (task(&result, "-sort"), task(&result, "-msort"), task(&result, "-topk"));
    assert_eq!((&right["found"], &right["kept"]), (&json!(1), &json!(1)), "{right}");
    for (failed, reason) in [(wrong, "accuracy"), (nonsense, "useless")] {
        assert!(failed["passes"].is_null() && failed["outcome"].as_str().unwrap().contains(reason), "{failed}");
    }
    let regions = result["compiled"]["specialisations"][0]["regions"].as_array().unwrap();
    let region = regions.iter().find(|region| region["author"] == "llm:scripted").unwrap();
    assert!(region["rule"] == "row_min" && region["kept"] == true, "{region}");

    let library = home.path().join("library");
    let files: Vec<_> = walkdir(&library).iter().filter_map(|path| Some(path.file_name()?.to_owned())).collect();
    assert!(files.iter().any(|name| name == "row_min.py"), "{files:?}");
    assert!(files.iter().all(|name| name != "same.py"), "{files:?}");
    let page = std::fs::read_to_string(home.path().join("report.html")).unwrap();
    assert!(page.contains("llm:scripted") && page.contains("no correct passes"), "{page}");
    assert!(home.path().join("library-agent/trajectories.jsonl").is_file());

    // A second library: no attempt is repeated, no server is needed, and the summary names the parts.
    std::fs::remove_dir_all(&library).unwrap();
    let before = server.seen.lock().unwrap().len();
    let output = optimize(home.path(), "llm:scripted", "http://127.0.0.1:1/v1", &[]).output().unwrap();
    assert!(said(&output).contains("llm:scripted: 3 attempts"), "{}", said(&output));
    assert_eq!(server.seen.lock().unwrap().len(), before);
    changed_models_and_other_authors(home.path());
}

/// Tests that attempts at an earlier version of the model are not continued, and that the passes are usable as given ones.
fn changed_models_and_other_authors(home: &Path) {
    let passes: Vec<_> = std::fs::read_dir(home.join("library-agent/passes")).unwrap().map(Result::unwrap).collect();
    let passes = passes.iter().find(|entry| entry.file_name().to_str().unwrap().contains("-sort")).unwrap().path();
    let passes = passes.to_str().unwrap();
    let given = |author: &str, flags: &[&str]| {
        let _ = std::fs::remove_dir_all(home.join("library"));
        let output = optimize(home, author, "http://localhost:1/v1", &[&["--json"], flags].concat()).output().unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
        let regions = result["compiled"]["specialisations"][0]["regions"].as_array().unwrap().clone();
        regions.iter().map(|region| region["author"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let own = |authors: &[String]| authors.iter().any(|author| author.starts_with("dir:") && author.ends_with(passes));
    assert!(own(&given(&format!("dir:{passes}"), &[])));
    assert_eq!(given(&format!("dir:{passes}"), &[]), given("fuse", &["--passes", passes]));
    let only = given("none", &["--passes", passes]);
    assert!(own(&only) && only.len() == 1, "{only:?}");

    std::fs::remove_dir_all(home.join("library")).unwrap();
    let output = optimize(home, "none", "http://localhost:1/v1", &[]).output().unwrap();
    assert!(
        output.status.code() == Some(2) && said(&output).contains("there is nothing to apply"),
        "{}",
        said(&output)
    );
    let mut command = optimize(home, "llm:scripted", "http://localhost:1/v1", &[]);
    std::fs::write(home.join("model.py"), format!("{MODEL}\n# changed\n")).unwrap();
    let output = command.output().unwrap();
    assert!(output.status.code() == Some(2) && said(&output).contains("another version"), "{}", said(&output));
}

fn walkdir(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walkdir(&path) } else { vec![path] }).collect()
}

#[test]
fn an_interrupted_call_ends_at_once_and_later_ones_continue() {
    if is_left_out() || !has_torch() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let stalls = Server::start(
        |number, request| {
            if number == 0 { script(request) } else { Answer::Stall(Duration::from_secs(600)) }
        },
    );
    let mut command = optimize(home.path(), "llm:scripted", &stalls.url, &["--agent-jobs", "1"]);
    let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while stalls.seen.lock().unwrap().is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "ended before its first request");
        std::thread::sleep(Duration::from_millis(20));
    }
    interrupt(&child);
    let begin = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert!(
        output.status.code() == Some(1) && said(&output).contains("run the same command again"),
        "{}",
        said(&output)
    );
    assert!(!home.path().join("library").exists());

    // No server: the message says how to continue. No name of a model: the same.
    let tasks = std::fs::read(home.path().join("library-agent/tasks.json")).unwrap();
    let output = optimize(home.path(), "llm:scripted", "http://127.0.0.1:1/v1", &[]).output().unwrap();
    assert!(output.status.code() == Some(3) && said(&output).contains("--base-url"), "{}", said(&output));
    let refuses = Server::start(|_, _| Answer::Json(404, json!({"error": {"message": "no model `scripted`"}})));
    let output = optimize(home.path(), "llm:scripted", &refuses.url, &[]).output().unwrap();
    assert!(output.status.code() == Some(3) && said(&output).contains("no model `scripted`"), "{}", said(&output));

    // A budget that is used up ends the work of the model, and the built-in author does the rest.
    let server = Server::start(|_, request| script(request));
    let budget = ["--run-tokens", "1", "--agent-jobs", "1", "--json"];
    let output = optimize(home.path(), "llm:scripted", &server.url, &budget).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    let authored = &result["authored"];
    assert!(authored["stopped"].as_str().unwrap().contains("budget of tokens"), "{authored}");
    // One reply now, and one before the interrupt if it was recorded.
    assert!(authored["attempts"] == 0 && [100, 200].map(Value::from).contains(&authored["input_tokens"]), "{authored}");
    std::fs::remove_dir_all(home.path().join("library")).unwrap();

    let output = optimize(home.path(), "llm:scripted", &server.url, &[]).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
    assert_eq!(tasks, std::fs::read(home.path().join("library-agent/tasks.json")).unwrap());
    assert!(home.path().join("library/manifest.json").is_file());
}

#[test]
fn wrong_authors_are_reported_before_anything_starts() {
    let home = tempfile::tempdir().unwrap();
    let check = |author: &str, expected: &str| {
        let output = optimize(home.path(), author, "http://localhost:1/v1", &[]).output().unwrap();
        assert!(output.status.code() == Some(2) && said(&output).contains(expected), "{author}: {}", said(&output));
    };
    let output = optimize(home.path(), "llm:m", "http://127.0.0.1:1/v1", &[]).output().unwrap();
    let message = "there is no server at http://127.0.0.1:1/v1: ";
    assert!(output.status.code() == Some(3) && said(&output).contains(message), "{}", said(&output));
    check("inductor", "expected fuse, none, dir:PATH or llm:MODEL");
    check("llm:", "expected fuse, none, dir:PATH or llm:MODEL");
    check("dir:nowhere", "there is no such pass directory");
}
