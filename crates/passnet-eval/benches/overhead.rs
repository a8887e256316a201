//! Cost of evaluating a graph in addition to its timed calls, compared with one fresh Python process per graph.
//!
//! The fresh process does what a harness without a referee does: it imports torch, executes `model.py`, makes the inputs from
//! `weight_meta.py`, runs the graph as reference and as candidate, compares, and times both with the same number of calls. Both programs
//! evaluate the same graphs in turn, in one run. Needs PASSNET_PYTHON and PASSNET_SITE, and is skipped without them.
//! `PASSNET_BENCH_GRAPHS` sets the number of graphs (20).

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for people, which may fail")]

mod common;

use std::{
    collections::BTreeMap,
    process::{Command, Stdio},
    time::Instant,
};

use passnet_eval::{Candidate, Defences, Referee, RefereeOptions, settings};
use passnet_record::{Device, ExecutionPath, RunSettings};
use passnet_run::GraphSample;

/// One fresh process: prints the nanoseconds that its timed calls took.
const FRESH: &str = r"
import sys, time, importlib.util, pathlib
import torch
torch.set_num_threads(1)
folder, warmup, trials = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
def load(name):
    spec = importlib.util.spec_from_file_location(name, folder / f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
def tensor(meta):
    dtype, shape = getattr(torch, meta.dtype.split('.')[-1]), meta.shape
    low, high, data = (getattr(meta, name, None) for name in ('min_val', 'max_val', 'data'))
    if low is not None and high is not None and not dtype.is_floating_point:
        return torch.randint(low, high + 1, shape, dtype=dtype)
    if data is not None:
        return torch.tensor(data, dtype=dtype).reshape(shape)
    if dtype == torch.bool:
        return torch.randn(shape) > 0.5
    if not meta.std:
        return torch.full(shape, meta.mean or 0, dtype=dtype)
    values = torch.randn(shape).to(dtype) * meta.std * 0.2 + (meta.mean or 0)
    return values.clamp(-100 if low is None else low, 100 if high is None else high)
torch.manual_seed(123)
metas = [value for value in vars(load('weight_meta')).values() if isinstance(value, type)]
inputs = {meta.name: tensor(meta) for meta in metas}
graph = load('model').GraphModule()
spent = 0
def timed():
    times = []
    for i in range(warmup + trials):
        start = time.perf_counter_ns()
        graph(**inputs)
        times.append(time.perf_counter_ns() - start)
    return sum(times)
with torch.no_grad():
    expected, got = graph(**inputs), graph(**inputs)
    flat = lambda values: [v for v in (values if isinstance(values, tuple) else (values,)) if isinstance(v, torch.Tensor)]
    for e, c in zip(flat(expected), flat(got)):
        torch.allclose(c, e, 1e-5, 1e-5)
    spent = timed() + timed()
print(spent)
";

struct Row {
    graph: String,
    ours_ms: f64,
    fresh_ms: f64,
    /// Parts of the time of an evaluation: start of the workers, loading, checking, and measuring without the trials.
    parts_ms: [f64; 4],
}

const PARTS: [&str; 4] = ["start", "load", "check", "measure"];

fn main() {
    let Some((interpreter, suite)) = common::set_up() else { return };
    // For a fair comparison, one path is measured and unstable pairs are not measured again, as in the other program.
    let settings = RunSettings { paths: vec![ExecutionPath::Direct], max_remeasure: 0, ..settings::sound(Device::Cpu) };
    let (warmup, trials) = (settings.warmup, settings.trials);
    let options = RefereeOptions {
        zygote: passnet_eval::ZygoteConfig::from(interpreter.clone()),
        defences: Defences::ALL,
        cache: None,
        jobs: 1,
    };
    let begin = Instant::now();
    let referee = Referee::new(settings, options).unwrap();
    println!("fork server ready after {:.1} s, once per run", begin.elapsed().as_secs_f64());

    let mut rows = Vec::new();
    println!("{:<44} {:>12} {:>12} {:>8}", "graph (overhead without timed calls)", "passnet ms", "fresh ms", "ratio");
    for id in suite.graphs() {
        let directory = suite.sample_dir(&id);
        let begin = Instant::now();
        let sample = GraphSample::read(&directory, id.clone()).unwrap();
        let verdict = referee.evaluate(&sample, &Candidate::Noop).unwrap().verdict;
        let ours = begin.elapsed().as_nanos() as f64 - verdict.cost.trials_ns as f64;
        let cost = verdict.cost;
        let parts = [cost.start_ns, cost.load_ns, cost.check_ns, cost.time_ns.saturating_sub(cost.trials_ns)];

        let begin = Instant::now();
        let output = Command::new(&interpreter.python)
            .args(["-I", "-c", FRESH])
            .arg(&directory)
            .args([warmup.to_string(), trials.to_string()])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let wall = begin.elapsed().as_nanos() as f64;
        assert!(output.status.success(), "{id:?}");
        let calls: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
        let row = Row {
            graph: id.task,
            ours_ms: ours / 1e6,
            fresh_ms: (wall - calls) / 1e6,
            parts_ms: parts.map(|ns| ns as f64 / 1e6),
        };
        println!("{:<44} {:>12.1} {:>12.1} {:>8.1}", row.graph, row.ours_ms, row.fresh_ms, row.fresh_ms / row.ours_ms);
        rows.push(row);
    }
    let mean = |value: fn(&Row) -> f64| rows.iter().map(value).sum::<f64>() / rows.len() as f64;
    let median = |value: &dyn Fn(&Row) -> f64| {
        let mut values: Vec<f64> = rows.iter().map(value).collect();
        values.sort_unstable_by(f64::total_cmp);
        passnet_eval::stats::quantile(&values, 0.5)
    };
    let (ours, fresh) = (median(&|row| row.ours_ms), median(&|row| row.fresh_ms));
    println!("{:<44} {:>12.1} {:>12.1} {:>8.1}", "median", ours, fresh, fresh / ours);
    let parts: BTreeMap<&str, f64> =
        PARTS.into_iter().zip((0..4).map(|part| median(&|row| row.parts_ms[part]))).collect();
    println!("of that, medians in ms: {parts:.1?}");
    let report = serde_json::json!({
        "graphs": rows.len(),
        "passnet_ms": {"median": ours, "mean": mean(|row| row.ours_ms)},
        "fresh_process_ms": {"median": fresh, "mean": mean(|row| row.fresh_ms)},
        "passnet_parts_ms": parts,
        "ratio_of_medians": fresh / ours,
    });
    println!("{report}");
}
