//! Agreement of kernel counts from few compilations with those from all.
//!
//! `cargo run -p passnet-dataset --example agreement -- ALL FEW` compares the kernel counts of two copies of a dataset, counted
//! with and without `passnet dataset kernels --exhaustive`: what was compiled, and which fusible ranges differ.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::{collections::BTreeMap, env, error::Error};

use passnet_dataset::{
    Dataset, Table,
    fusible::{PrefixCounts, fusible_ranges},
    store::{KernelsRow, SampleRow},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1).map(Dataset::at);
    let (Some(all), Some(few)) = (args.next(), args.next()) else { return Err("usage: agreement ALL FEW".into()) };
    let mut ops: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in all.read::<SampleRow>(Table::Subgraphs)? {
        let row = row?;
        ops.insert(row.path, row.ops);
    }
    let mut reference: BTreeMap<String, PrefixCounts> = BTreeMap::new();
    for row in all.read::<KernelsRow>(Table::Kernels)? {
        let row = row?;
        // A graph that does not compile has no counts; a row without an entry for each op was not counted exhaustively.
        if !row.measured.kernels.is_empty() && row.measured.compilations as usize == row.measured.kernels.len() {
            reference.insert(row.path, row.measured);
        }
    }
    let (mut graphs, mut total, mut prefixes, mut compilations) = (0, 0, 0, 0);
    let (mut ranges, mut equal, mut counts) = (0, 0, 0);
    for row in few.read::<KernelsRow>(Table::Kernels)? {
        let KernelsRow { path, measured, .. } = row?;
        let Some(all) = reference.get(&path) else { continue };
        let (expected, found) = (fusible_ranges(&all.kernels, 0), fusible_ranges(&measured.kernels, 0));
        let same = expected.iter().filter(|range| found.contains(range)).count();
        if all.kernels != measured.kernels {
            let ops = ops.get(&path).map(|ops| ops.join(" ")).unwrap_or_default();
            println!("{path}\n  ops    {ops}\n  all    {:?}\n  few    {:?}", all.kernels, measured.kernels);
            println!("  compiled {:?}\n  ranges {expected:?}\n  found  {found:?}", measured.compiled);
        }
        graphs += 1;
        total += all.kernels.len();
        prefixes += measured.compiled.len();
        compilations += measured.compilations;
        ranges += expected.len();
        equal += same;
        counts += usize::from(all.kernels == measured.kernels);
    }
    println!(
        "{graphs} graphs, {total} ops: {compilations} compilations ({:.2} per op) of {prefixes} prefixes",
        f64::from(compilations) / total.max(1) as f64
    );
    println!("{equal} of {ranges} ranges equal; all counts equal in {counts} graphs");
    Ok(())
}
