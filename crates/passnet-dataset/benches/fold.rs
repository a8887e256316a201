//! Time, memory and quality of folding on op sequences of the public corpus: `cargo bench -p passnet-dataset`.
//!
//! The published figures next to ours are those of the reference on a machine with 2 cores (96 to 166 s and 351 to
//! 647 s, depending on its load).
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../tests/shared_data/mod.rs"]
mod shared_data;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use passnet_dataset::fold::{
    CanonicalSettings, CompatibleSettings, FoldPolicy, OpRange, SizeBounds, fold_canonical, fold_compatible,
};
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// The 1,000 graphs that the published figures for window 64 are about, in their order.
#[derive(Deserialize)]
struct Golden {
    samples_in_order: Vec<String>,
}

type Sequences = Vec<Vec<String>>;

/// Each case is timed this often; the fastest run counts.
const REPEATS: usize = 3;

fn main() {
    let Some(graphs) = shared_data::golden::<BTreeMap<String, Vec<String>>>("op_names_static.json.gz") else { return };
    let Some(golden) = shared_data::golden::<Golden>("rp_A_1000.json.gz") else { return };
    let thousand: Sequences = golden.samples_in_order.iter().map(|sample| graphs[sample].clone()).collect();
    let all: Sequences = graphs.into_values().collect();
    println!(
        "{:<44} {:>9} {:>8} {:>8} {:>9} {:>9}  published",
        "case", "time", "memory", "covered", "recurring", "patterns"
    );
    let small = SizeBounds::new(4, 16).expect("4 < 16");
    let large = SizeBounds::new(4, 64).expect("4 < 64");
    let compatible =
        |window, folds, bounds| CompatibleSettings { window, folds: Some(folds), policy: FoldPolicy::Savings, bounds };
    case("compatible, window 10", &all, "96 s, 4.8 GB, 48.5 %, 677 patterns", |graphs| {
        fold_compatible(graphs, &compatible(10, 10, small))
    });
    case("compatible, window 64", &thousand, "351 s, 11.2 GB, 63.5 %, 809 patterns", |graphs| {
        fold_compatible(graphs, &compatible(64, 16, large))
    });
    let reach = CanonicalSettings::default().reach;
    for (name, bounds) in [("canonical, 4..16", small), ("canonical, 4..64", large)] {
        case(name, &all, "", |graphs| fold_canonical(graphs, &CanonicalSettings { bounds, reach }));
    }
}

fn case(name: &str, graphs: &Sequences, published: &str, fold: impl Fn(&Sequences) -> Vec<Vec<OpRange>>) {
    reset_peak_memory();
    let before = peak_memory_mib();
    let mut fastest = Duration::MAX;
    let mut ranges = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        ranges = fold(graphs);
        fastest = fastest.min(start.elapsed());
    }
    let memory = peak_memory_mib().saturating_sub(before);
    let quality = Quality::of(graphs, &ranges);
    println!(
        "{:<44} {:>7.3} s {:>4} MiB {:>6.1} % {:>7.1} % {:>9}  {published}",
        format!("{name}, {} graphs", graphs.len()),
        fastest.as_secs_f64(),
        memory,
        quality.covered,
        quality.recurring,
        quality.patterns,
    );
}

struct Quality {
    /// Share of all ops that lie in a range.
    covered: f64,
    /// Share of all ops that lie in a range whose op sequence is also a range of a graph with other ops.
    recurring: f64,
    /// Distinct op sequences of ranges.
    patterns: usize,
}

impl Quality {
    fn of(graphs: &Sequences, ranges: &[Vec<OpRange>]) -> Self {
        let total: usize = graphs.iter().map(Vec::len).sum();
        let distinct: BTreeSet<&Vec<String>> = graphs.iter().collect();
        let distinct: FxHashMap<&Vec<String>, usize> = distinct.into_iter().zip(0..).collect();
        // For each pattern the first graph it was seen in, whether another one has it, and the ops it covers.
        let mut patterns: FxHashMap<&[String], (usize, bool, usize)> = FxHashMap::default();
        for (graph, ranges) in graphs.iter().zip(ranges) {
            let id = distinct[graph];
            for range in ranges {
                let entry = patterns.entry(&graph[range.indices()]).or_insert((id, false, 0));
                entry.1 |= entry.0 != id;
                entry.2 += range.len() as usize;
            }
        }
        let percent = |ops: usize| 100.0 * ops as f64 / total as f64;
        Self {
            covered: percent(patterns.values().map(|&(_, _, ops)| ops).sum()),
            recurring: percent(patterns.values().filter(|entry| entry.1).map(|&(_, _, ops)| ops).sum()),
            patterns: patterns.len(),
        }
    }
}

/// Lowers the recorded peak of resident memory to the present use.
fn reset_peak_memory() {
    // Where the kernel refuses, the figure is the peak of all cases so far.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Peak resident memory of this process.
fn peak_memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}
