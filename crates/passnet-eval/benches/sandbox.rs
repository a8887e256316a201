//! Time that confining workers adds to an evaluation: the same graphs with and without the sandbox, alternately.
//!
//! Two referees that differ only in the sandbox evaluate each graph of the bundled suite, in alternating order. The figures exclude the
//! timed calls. Needs PASSNET_PYTHON and PASSNET_SITE, and is skipped without them. `PASSNET_BENCH_GRAPHS` sets the number of graphs
//! (20).

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for people, which may fail")]

mod common;

use std::time::Instant;

use passnet_eval::{Candidate, Defences, Referee, RefereeOptions, settings, stats::quantile};
use passnet_record::{Device, ExecutionPath, RunSettings};
use passnet_run::GraphSample;

/// Number of pairs of evaluations per graph.
const PAIRS: usize = 4;

fn main() {
    let Some((interpreter, suite)) = common::set_up() else { return };
    let settings = || RunSettings {
        paths: vec![ExecutionPath::Direct],
        max_remeasure: 0,
        trials: 10,
        ..settings::sound(Device::Cpu)
    };
    let options = RefereeOptions {
        zygote: passnet_eval::ZygoteConfig::from(interpreter),
        defences: Defences::ALL,
        cache: None,
        jobs: 1,
    };
    let confined = Referee::new(settings(), options).unwrap();
    let open = confined.sibling(settings(), Defences { sandbox: false, ..Defences::ALL }).unwrap();
    let samples: Vec<GraphSample> =
        suite.graphs().map(|id| GraphSample::read(&suite.sample_dir(&id), id).unwrap()).collect();
    let cost = |referee: &Referee, sample: &GraphSample| {
        let begin = Instant::now();
        let verdict = referee.evaluate(sample, &Candidate::Noop).unwrap().verdict;
        (begin.elapsed().as_nanos() as f64 - verdict.cost.trials_ns as f64) / 1e6
    };
    // The first evaluation of each fork server is not counted, because it has no spare workers.
    let _ = (cost(&confined, &samples[0]), cost(&open, &samples[0]));
    let mut rows: Vec<(f64, f64)> = Vec::new();
    for sample in &samples {
        for pair in 0..PAIRS {
            let forward = (pair % 2 == 0).then(|| cost(&confined, sample));
            let without = cost(&open, sample);
            rows.push((forward.unwrap_or_else(|| cost(&confined, sample)), without));
        }
    }
    let sorted = |value: &dyn Fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = rows.iter().map(value).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let (with, without, added) =
        (sorted(&|row| row.0), sorted(&|row| row.1), sorted(&|(confined, open)| confined - open));
    println!("{} pairs of evaluations, ms without timed calls: with the sandbox, without, added", rows.len());
    for share in [0.25, 0.5, 0.75] {
        let [with, without, added] = [&with, &without, &added].map(|values| quantile(values, share));
        println!("{:>3.0} % {with:>10.1} {without:>10.1} {added:>10.1}", share * 100.0);
    }
    println!(
        "{}",
        serde_json::json!({
            "bench": "sandbox", "pairs": rows.len(), "with_ms": quantile(&with, 0.5), "without_ms": quantile(&without, 0.5),
            "added_ms": {"q25": quantile(&added, 0.25), "median": quantile(&added, 0.5), "q75": quantile(&added, 0.75)},
        })
    );
}
