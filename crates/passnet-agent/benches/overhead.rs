//! Time of the agent itself per step: from the moment when a model's answer leaves the server until the next request has arrived
//! completely. This includes reading the answer, the journal, the tool call, storing the body, building the conversation and
//! sending it. The tool calls here are edits; `bench eval` measures evaluations.
//!
//! In addition to the wall-clock time, it reports the time that the process computed and the time that its threads waited for a
//! core. The server is part of the process, so its reading and parsing of requests are included.
//!
//! `PASSNET_BENCH_STEPS` sets the steps of an attempt (50). Needs PASSNET_PYTHON, as the referee wants an interpreter.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for people, which may fail")]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/server/mod.rs"]
mod server;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use passnet_agent::{AttemptLimits, RunOptions, VerdictCache};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use server::{Server, create, says, turn};

/// Returns a file of typical size, with another text in each turn.
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

/// Clock and counters at a moment.
struct Moment {
    at: Instant,
    cpu: Duration,
    /// Time in nanoseconds that each thread has waited for a core.
    waited: BTreeMap<String, u64>,
}

impl Moment {
    /// Reads the clock last, so that the time of the other readings is not measured.
    fn begin() -> Self {
        let (cpu, waited) = (cpu_time(), waited());
        Self { at: Instant::now(), cpu, waited }
    }

    /// Returns milliseconds since this moment: wall-clock time, computing time, and waiting time for a core.
    fn since(&self) -> [f64; 3] {
        let (wall, cpu) = (self.at.elapsed(), cpu_time().saturating_sub(self.cpu));
        let before = |thread: &str| self.waited.get(thread).copied().unwrap_or(0);
        let waited: u64 = waited().iter().map(|(thread, ns)| ns.saturating_sub(before(thread))).sum();
        [wall, cpu, Duration::from_nanos(waited)].map(|time| time.as_secs_f64() * 1e3)
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the second number of `schedstat` by thread; empty if the kernel does not count it.
fn waited() -> BTreeMap<String, u64> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        Some((thread.file_name().into_string().ok()?, text.split(' ').nth(1)?.parse().ok()?))
    };
    threads.filter_map(of).collect()
}

fn main() {
    let steps: u32 = std::env::var("PASSNET_BENCH_STEPS").ok().and_then(|text| text.parse().ok()).unwrap_or(50);
    let Some(evaluator) = common::evaluator(VerdictCache::default()) else { return };
    let (gaps, answered) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(None::<Moment>)));
    let (log, last) = (Arc::clone(&gaps), Arc::clone(&answered));
    let server = Server::start(move |_, request| {
        if let Some(answered) = last.lock().unwrap().take() {
            log.lock().unwrap().push((answered.since(), request.to_string().len()));
        }
        let answer = answer(request);
        *last.lock().unwrap() = Some(Moment::begin());
        answer
    });
    let limits = AttemptLimits { steps, ..common::options().limits };
    let (suite, folder) = (common::suite(1), tempfile::tempdir().unwrap());
    common::run_all(&evaluator, &suite, &server.url, &RunOptions { limits, ..common::options() }, folder.path());

    let gaps = gaps.lock().unwrap();
    let largest = gaps.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0);
    println!("{} steps, questions of up to {} kB; milliseconds per step:", gaps.len(), largest / 1000);
    let mut report = json!({"steps": gaps.len(), "largest_question_bytes": largest});
    for (index, name) in ["wall", "computing", "waiting"].into_iter().enumerate() {
        let mut times: Vec<f64> = gaps.iter().map(|(times, _)| times[index]).collect();
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
        println!("{name:>10}: median {:.2}, 95 % {:.2}, most {:.2}", at(0.5), at(0.95), at(1.0));
        report[name] = json!({"median_ms": at(0.5), "p95_ms": at(0.95), "most_ms": at(1.0)});
    }
    println!("{report}");
}
