//! How far few compilations agree with all of them.
//!
//! `cargo run -p passnet-dataset --example agreement -- DIR` replays bracketing on the exhaustive kernel counts of a dataset
//! (`passnet dataset kernels DIR --exhaustive`): what it would have asked, and which of its ranges differ.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::{collections::BTreeMap, convert::Infallible, env, error::Error};

use passnet_dataset::{
    Dataset, Table,
    fusible::{Bracketing, fusible_ranges},
    store::{KernelsRow, SampleRow},
};

fn main() -> Result<(), Box<dyn Error>> {
    let dataset = Dataset::at(env::args().nth(1).ok_or("usage: agreement DIR")?);
    let mut ops: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in dataset.read::<SampleRow>(Table::Subgraphs)? {
        let row = row?;
        ops.insert(row.path, row.ops);
    }
    let mut bracketing = Bracketing::new();
    let (mut graphs, mut total, mut calls, mut ranges, mut equal) = (0, 0, 0, 0, 0);
    for row in dataset.read::<KernelsRow>(Table::Kernels)? {
        let KernelsRow { path, measured, .. } = row?;
        let all = &measured.kernels;
        let Some(ops) = ops.get(&path).filter(|ops| ops.len() == all.len() && measured.calls() == all.len()) else {
            continue;
        };
        let Ok(few) = bracketing.measure(ops, |k| Ok::<_, Infallible>(measured.schedules[&k].clone()));
        bracketing.learn(ops, &few);
        let (expected, found) = (fusible_ranges(all, 0), fusible_ranges(&few.kernels, 0));
        let same = expected.iter().filter(|range| found.contains(range)).count();
        if same < expected.len() || found.len() != expected.len() {
            println!("{path}\n  ops      {}\n  counts   {all:?}\n  found    {:?}", ops.join(" "), few.kernels);
        }
        graphs += 1;
        total += all.len();
        calls += few.calls();
        ranges += expected.len();
        equal += same;
    }
    println!(
        "{graphs} graphs, {total} ops: {calls} compilations ({:.2} per op)",
        calls as f64 / f64::from(total.max(1) as u32)
    );
    println!("{equal} of {ranges} ranges equal");
    Ok(())
}
