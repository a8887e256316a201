//! Size and time of every kind of page for 2,000 graphs x 20 runs, with `passnet site` and with `passnet serve`.
//!
//! The runs are synthetic: varied verdicts of the published logs, written through `RunStore` like real runs, with pass files
//! and trial times as blobs. Each shape spreads the graphs over another number of tasks, because tables have one row per
//! task, and pages of a task have one row per graph. Bounds: 300 KB and 1 s per page. `PASSNET_BENCH_RUNS` and
//! `PASSNET_BENCH_GRAPHS` change the size; `PASSNET_BENCH_TASKS` selects one shape.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for people, which may fail")]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use passnet_record::{
    AuthorSpec, ContentId, RunEvent, RunHeader, SCHEMA_VERSION, SideTrials, SourceFile, TimeUnit, TrialTimes, Verdict,
};
use passnet_run::{RunLog, RunStore};
use serde_json::json;

/// Pages of one kind that are requested from the server. If there are more, the requested ones are spread evenly.
const ASKED: usize = 60;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

fn main() {
    let (graphs, runs) = (number("PASSNET_BENCH_GRAPHS", 2000), number("PASSNET_BENCH_RUNS", 20));
    let folder = tempfile::tempdir().unwrap();
    let material = Material::read(folder.path());
    let mut tables = Vec::new();
    let shapes = match number("PASSNET_BENCH_TASKS", 0) {
        0 => vec![graphs, graphs / 10, 1],
        tasks => vec![tasks],
    };
    for tasks in shapes {
        let within = folder.path().join(format!("tasks-{tasks}"));
        let begin = Instant::now();
        for run in 0..runs {
            material.write_run(&within.join(format!("run-{run:02}")), run, graphs, tasks);
        }
        println!(
            "\n{graphs} graphs in {tasks} task(s) x {runs} runs, written in {:.1} s",
            begin.elapsed().as_secs_f64()
        );
        let site = folder.path().join("site");
        let begin = Instant::now();
        let status = Command::new(env!("CARGO_BIN_EXE_passnet"))
            .args(["site", "--no-shapes"])
            .args([&site, &within])
            .current_dir(root())
            .status()
            .unwrap();
        assert!(status.success());
        let site_s = begin.elapsed().as_secs_f64();
        let kinds = Kinds::of(&site);
        let (served, times) = serve(&within, &kinds);
        let (open_s, peak_bytes) = (served.open_s, served.peak_bytes);
        println!(
            "site {site_s:.1} s; serve opens in {open_s:.1} s and takes at most {} MiB",
            peak_bytes.map_or_else(|| "?".to_owned(), |bytes| (bytes >> 20).to_string())
        );
        tables.push(json!({
            "graphs": graphs, "tasks": tasks, "runs": runs, "site_s": site_s, "serve_opens_s": open_s,
            "serve_peak_bytes": peak_bytes,
            "pages": kinds.report(&times),
        }));
        fs::remove_dir_all(&site).unwrap();
        fs::remove_dir_all(&within).unwrap();
    }
    println!("{}", json!({ "schema_version": 1, "bench": "pages", "shapes": tables }));
}

/// Parts of real runs, from which the benchmark builds larger ones.
struct Material {
    header: RunHeader,
    verdicts: Vec<Verdict>,
    passes: Vec<Vec<u8>>,
}

impl Material {
    fn read(folder: &Path) -> Self {
        let archive = fs::File::open(root().join("docs/results/h200-runs.tar.gz")).unwrap();
        let published = folder.join("published");
        tar::Archive::new(flate2::read::GzDecoder::new(archive)).unpack(&published).unwrap();
        let logs: Vec<RunLog> =
            ["inductor", "demo-passes"].iter().map(|run| RunLog::read(&published.join(run)).unwrap()).collect();
        let passes = fs::read_dir(root().join("suites/demo/passes/gpt2-gelu-tanh")).unwrap();
        let mut passes: Vec<PathBuf> = passes.map(|entry| entry.unwrap().path()).collect();
        passes.sort();
        Self {
            header: logs[0].header.clone(),
            verdicts: logs.iter().flat_map(RunLog::verdicts).cloned().collect(),
            passes: passes.iter().map(|path| fs::read(path).unwrap()).collect(),
        }
    }

    /// A separate run author; its speed-ups differ from those of other runs.
    fn write_run(&self, directory: &Path, run: usize, graphs: usize, tasks: usize) {
        let header = RunHeader {
            run: format!("run-{run:02}"),
            suite: "synthetic".to_owned(),
            graphs,
            author: AuthorSpec::new("dir", Some(format!("submissions/author-{run:02}/passes"))),
            ..self.header.clone()
        };
        let mut store = RunStore::open(directory, &header).unwrap();
        let blobs: Vec<ContentId> = self.passes.iter().map(|bytes| store.put_blob(bytes).unwrap()).collect();
        let trials = |seed: u64| -> Vec<Vec<u64>> {
            (0..10)
                .map(|round| (0..10).map(|trial| 50_000 + (seed * 977 + round * 37 + trial * 101) % 4_000).collect())
                .collect()
        };
        let side = |seed: u64| SideTrials { e2e_ns: trials(seed), device_ns: Vec::new() };
        let raw = TrialTimes {
            schema_version: SCHEMA_VERSION,
            path: None,
            unit: TimeUnit::Ns,
            calls: 1,
            rounds: Vec::new(),
            eager: side(1),
            control: side(2),
            candidate: side(run as u64 + 3),
        };
        let raw = store.put_blob(&serde_json::to_vec(&raw).unwrap()).unwrap();
        let per_task = graphs / tasks;
        for graph in 0..graphs {
            let (task, within) = (graph / per_task, graph % per_task);
            let mut verdict = self.verdicts[(graph * 7 + run * 13) % self.verdicts.len()].clone();
            // Names as long as those of PassBench, which are hashes.
            verdict.id.task = ContentId::of(&task.to_le_bytes()).as_str().to_owned();
            verdict.id.graph = format!("{within:03}");
            verdict.key = ContentId::of(&[graph.to_le_bytes(), run.to_le_bytes()].concat());
            for timing in &mut verdict.timings {
                timing.raw = Some(raw.clone());
                let scale = 0.8 + 0.4 * ((graph * 31 + run * 17) % 100) as f64 / 100.0;
                for bound in [&mut timing.speedup.ratio, &mut timing.speedup.low, &mut timing.speedup.high] {
                    *bound *= scale;
                }
            }
            if within == 0 {
                let file =
                    |(at, blob): (usize, &ContentId)| SourceFile { path: format!("pass_{at}.py"), blob: blob.clone() };
                let files = blobs.iter().enumerate().map(file).collect();
                let id = ContentId::of(&run.to_le_bytes());
                store.append(&RunEvent::Passes { task: verdict.id.task.clone(), id, files }).unwrap();
            }
            store.append(&RunEvent::Verdict(Box::new(verdict))).unwrap();
        }
        store.finish(0).unwrap();
    }
}

/// Paths and sizes of a site's pages by kind, which is the folder they lie in.
struct Kinds(BTreeMap<String, Vec<(String, u64)>>);

impl Kinds {
    fn of(site: &Path) -> Self {
        let mut kinds: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
        let mut folders = vec![site.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|kind| kind == "html") {
                    let name = path.strip_prefix(site).unwrap().to_str().unwrap().to_owned();
                    let kind = name.split_once('/').map_or("index", |(kind, _)| kind).to_owned();
                    kinds.entry(kind).or_default().push((name, path.metadata().unwrap().len()));
                }
            }
        }
        for pages in kinds.values_mut() {
            pages.sort_by_key(|(name, size)| (std::cmp::Reverse(*size), name.clone()));
        }
        Self(kinds)
    }

    /// A table for people, and its rows.
    fn report(&self, times: &BTreeMap<String, Vec<Duration>>) -> serde_json::Value {
        println!("{:12} {:>7} {:>10} {:>10} {:>9} {:>9}", "kind", "pages", "largest", "mean", "longest", "median");
        let rows = self.0.iter().map(|(kind, pages)| {
            let (largest, sum) = (pages[0].1, pages.iter().map(|(_, size)| size).sum::<u64>());
            let mean = sum / pages.len() as u64;
            let mut times: Vec<f64> = times[kind].iter().map(Duration::as_secs_f64).map(|s| 1e3 * s).collect();
            times.sort_by(f64::total_cmp);
            let (longest, median) = (times[times.len() - 1], times[times.len() / 2]);
            println!(
                "{kind:12} {:7} {:7.1} KB {:7.1} KB {longest:6.1} ms {median:6.1} ms",
                pages.len(),
                largest as f64 / 1e3,
                mean as f64 / 1e3
            );
            json!({
                "kind": kind, "pages": pages.len(), "largest_bytes": largest, "mean_bytes": mean,
                "longest_ms": longest, "median_ms": median,
            })
        });
        rows.collect()
    }
}

/// A server that answered all requests.
struct Served {
    /// Seconds until it listened.
    open_s: f64,
    /// Largest memory of its process; `None` where the system does not report it.
    peak_bytes: Option<u64>,
}

/// Largest memory of a process on Linux.
fn peak_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Requests pages of every kind from a server, including the largest of each kind, one at a time. Returns the server's costs and the
/// times of the answers.
fn serve(runs: &Path, kinds: &Kinds) -> (Served, BTreeMap<String, Vec<Duration>>) {
    let begin = Instant::now();
    let mut server = Command::new(env!("CARGO_BIN_EXE_passnet"))
        .args(["serve", "--port", "0", "--no-shapes"])
        .arg(runs)
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let open_s = begin.elapsed().as_secs_f64();
    let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let ask = |path: &str| {
        let begin = Instant::now();
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{path}");
        begin.elapsed()
    };
    let times = kinds.0.iter().map(|(kind, pages)| {
        let step = pages.len().div_ceil(ASKED);
        (kind.clone(), pages.iter().step_by(step).map(|(path, _)| ask(path)).collect())
    });
    let times = times.collect();
    let served = Served { open_s, peak_bytes: peak_bytes(server.id()) };
    server.kill().unwrap();
    server.wait().unwrap();
    (served, times)
}
