//! What the agent itself takes per step: from the moment a model's answer leaves the server until the next question has
//! arrived there whole. That is reading the answer, the journal, the tool call, keeping the body, putting the conversation
//! together and sending it. The tools called here are edits; evaluations cost what `bench eval` says.
//!
//! `PASSNET_BENCH_STEPS` sets the steps of an attempt (50). Needs PASSNET_PYTHON, as the referee wants an interpreter.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for people, which may fail")]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/server/mod.rs"]
mod server;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use passnet_agent::{Limits, RunOptions, VerdictCache};
use serde_json::{Value, json};
use server::{Server, create, says, turn};

/// A file of a usual size, another one each time.
fn source(turn: usize) -> String {
    (0..100).map(|line| format!("    value_{line} = {turn} + {line}  # what a pass may look like\n")).collect()
}

fn answer(request: &Value) -> server::Answer {
    let path = "/passes/fuse.py";
    match turn(request) % 3 {
        0 => says("I write the pass.", &[create(path, &source(turn(request)))]),
        1 => says("I look at it.", &[("file_editor", json!({"command": "view", "path": path}))]),
        _ => {
            let arguments =
                json!({"command": "str_replace", "path": path, "old_str": "value_7 =", "new_str": "seven ="});
            says("I change a line.", &[("file_editor", arguments)])
        }
    }
}

fn main() {
    let steps: u32 = std::env::var("PASSNET_BENCH_STEPS").ok().and_then(|text| text.parse().ok()).unwrap_or(50);
    let Some(evaluator) = common::evaluator(VerdictCache::default()) else { return };
    let (gaps, answered) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(None::<Instant>)));
    let (log, last) = (Arc::clone(&gaps), Arc::clone(&answered));
    let server = Server::start(move |_, request| {
        let arrived = Instant::now();
        if let Some(answered) = last.lock().unwrap().take() {
            log.lock().unwrap().push((arrived.duration_since(answered), request.to_string().len()));
        }
        let answer = answer(request);
        *last.lock().unwrap() = Some(Instant::now());
        answer
    });
    let limits = Limits { steps, ..common::options().limits };
    let (suite, folder) = (common::suite(1), tempfile::tempdir().unwrap());
    common::run_all(&evaluator, &suite, &server.url, &RunOptions { limits, ..common::options() }, folder.path());

    let gaps = gaps.lock().unwrap();
    let mut times: Vec<Duration> = gaps.iter().map(|&(time, _)| time).collect();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize].as_secs_f64() * 1e3;
    let largest = gaps.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0);
    println!("{} steps, questions of up to {} kB", times.len(), largest / 1000);
    println!("agent per step: median {:.2} ms, 90 % {:.2} ms, most {:.2} ms", at(0.5), at(0.9), at(1.0));
    let report = json!({
        "steps": times.len(), "largest_question_bytes": largest, "median_ms": at(0.5), "p90_ms": at(0.9), "most_ms": at(1.0),
    });
    println!("{report}");
}
