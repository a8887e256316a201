//! Speed of reading `model.py` texts to verified graphs on one core (wall clock and CPU time), compared with a reader in Python on the same
//! texts.
//!
//! Texts are a part of the public samples; `PASSNET_SHARED_DATA` says where they are, `PASSNET_PYTHON` which Python to
//! compare with. Prints a table, and one line of JSON at the end.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "this is a benchmark")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::{env, fs, path::Path, process::Command, time::Instant};

use passnet_graphnet::{graph_module, rename};
use rustix::time::{ClockId, clock_gettime};

/// Every how many-th sample is read.
const STRIDE: usize = 10;

/// Python parses only one in this many of the texts.
const PYTHON_STRIDE: usize = 6;

/// Passes over the texts. The fastest one counts, because other programs can only make a pass slower.
const PASSES: usize = 7;

fn main() {
    let mut texts = Vec::new();
    if !support::for_each_sample("graphnet-public.tar.zst", STRIDE, |_, mut files| {
        texts.extend(files.remove("model.py"))
    }) {
        return;
    }
    let all: Vec<&str> = texts.iter().map(String::as_str).collect();
    let some: Vec<&str> = all.iter().copied().step_by(PYTHON_STRIDE).collect();
    let lower = |text: &str| graph_module::parse("model.py", text).unwrap().num_nodes();
    let graph = rate(&all, lower);
    let renamed = rate(&all, |text| rename::alpha_renamed("model.py", text).unwrap().len());
    let python = python_rate(&some);
    let ratio = rate(&some, lower).cpu / python;
    let nodes: usize = all.iter().map(|text| lower(text)).sum();
    println!("{} texts, {:.1} MB, {nodes} nodes", all.len(), megabytes(&all));
    println!("text to verified graph   {:8.1} MB/s, {:.1} by the wall clock", graph.cpu, graph.wall);
    println!("text to renamed text     {:8.1} MB/s, {:.1} by the wall clock", renamed.cpu, renamed.wall);
    println!("ast.parse and visitor    {python:8.2} MB/s on {} of the texts: {ratio:.0} times slower", some.len());
    println!(
        "{}",
        serde_json::json!({
            "bench": "parse", "texts": all.len(), "megabytes": megabytes(&all), "nodes": nodes,
            "graph_mb_per_s": graph.cpu, "graph_wall_mb_per_s": graph.wall,
            "renamed_mb_per_s": renamed.cpu, "renamed_wall_mb_per_s": renamed.wall, "python_mb_per_s": python, "ratio_to_python": ratio,
        })
    );
}

fn megabytes(texts: &[&str]) -> f64 {
    texts.iter().map(|text| text.len()).sum::<usize>() as f64 / 1e6
}

/// CPU time of this thread: what else runs on the machine does not count.
fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Megabytes per second of the best pass.
struct Rate {
    /// Of CPU time.
    cpu: f64,
    /// By the wall clock.
    wall: f64,
}

fn rate(texts: &[&str], read: impl Fn(&str) -> usize) -> Rate {
    let pass = |_| {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        texts.iter().for_each(|text| _ = std::hint::black_box(read(text)));
        (cpu_seconds() - cpu, start.elapsed().as_secs_f64())
    };
    let least = |(cpu, wall): (f64, f64), (c, w): (f64, f64)| (cpu.min(c), wall.min(w));
    let (cpu, wall) = (0..PASSES).map(pass).fold((f64::INFINITY, f64::INFINITY), least);
    Rate { cpu: megabytes(texts) / cpu, wall: megabytes(texts) / wall }
}

/// Megabytes per second of CPU time of the reader in Python, without its start.
fn python_rate(texts: &[&str]) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    for (index, text) in texts.iter().enumerate() {
        fs::write(dir.path().join(format!("{index}.py")), text).unwrap();
    }
    let python = env::var_os("PASSNET_PYTHON").unwrap_or_else(|| "python3".into());
    let script = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/reader.py"));
    let output = Command::new(python).arg(script).arg(dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seconds: f64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    megabytes(texts) / seconds
}
