//! Dedup and fold over many graphs: `cargo bench -p passnet-dataset --bench scale -- 10000 100000`.
//!
//! Graphs are the smallest of the public samples under other names, two of three with another integer in them, so that a
//! third has the structure of a graph before it. They are described as an import would, but not read from folders.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../tests/shared_data/mod.rs"]
mod shared_data;

use std::{error::Error, fs, time::Instant};

use passnet_dataset::{
    Dataset, Table,
    dedup::dedup,
    fold::CanonicalSettings,
    folders::{find_samples, read_sample},
    hashes::Rung,
    import::describe,
    mine::{Method, mine},
    store::{Kind, SampleFiles, SampleRow},
};
use rayon::prelude::*;

/// Graphs that are copied, and most ops of one.
const BASES: usize = 64;
const OPS: usize = 100;
const CHUNK: usize = 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let sizes: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let scratch = tempfile::tempdir()?;
    let Some(()) = shared_data::unpack("graphnet-public.tar.zst", scratch.path()) else { return Ok(()) };
    let samples = scratch.path().join("samples");
    let mut bases = Vec::new();
    for path in find_samples(&samples)? {
        let files = read_sample(&samples.join(&path))?;
        if files.text("model.py").is_some_and(|text| text.len() < 60_000)
            && let Ok(row) = describe(&path, Kind::Full, files)
            && row.ops.len() <= OPS
        {
            bases.push(row);
        }
        if bases.len() == BASES {
            break;
        }
    }
    let ops: usize = bases.iter().map(|row| row.ops.len()).sum();
    println!("{} graphs of {} ops on average", bases.len(), ops / bases.len().max(1));
    for size in if sizes.is_empty() { vec![10_000] } else { sizes } {
        let dataset = Dataset::at(scratch.path().join(size.to_string()));
        println!("{size} graphs");
        stage("describe and write", size, || write(&dataset, &bases, size))?;
        let found = stage("dedup", size, || dedup(&dataset, Table::Graphs, Rung::Typed, &dataset))?;
        println!("    {} kept", found.kept);
        let mined =
            stage("fold", found.kept, || mine(&dataset, Method::Canonical(CanonicalSettings::default()), &dataset))?;
        println!("    {} ranges, {} distinct subgraphs", mined.ranges, mined.subgraphs);
        fs::remove_dir_all(dataset.root())?;
    }
    Ok(())
}

fn write(dataset: &Dataset, bases: &[SampleRow], size: usize) -> Result<(), Box<dyn Error>> {
    let mut writer = dataset.append(Table::Graphs)?;
    for first in (0..size).step_by(CHUNK) {
        let rows: Vec<Result<SampleRow, String>> = (first..size.min(first + CHUNK))
            .into_par_iter()
            .map(|index| perturbed(&bases[index % bases.len()], index))
            .collect();
        rows.into_iter().try_for_each(|row| writer.push(row?).map_err(Box::<dyn Error>::from))?;
    }
    Ok(writer.finish()?)
}

/// Another graph: names get a suffix, and two of three get another integer in their first call.
fn perturbed(base: &SampleRow, index: usize) -> Result<SampleRow, String> {
    let round = index / BASES;
    let mut files = SampleFiles::default();
    for (name, content) in base.files.iter() {
        let text = String::from_utf8_lossy(content).replace("L_", &format!("L{round}_"));
        let text = if name == "model.py" && !round.is_multiple_of(3) {
            text.replace("(1, 1)", &format!("(1, {round})"))
        } else {
            text
        };
        files.insert(name.to_owned(), text.into_bytes());
    }
    describe(&format!("scale/{index:07}"), Kind::Full, files).map_err(|error| error.to_string())
}

fn stage<R, E>(name: &str, graphs: usize, run: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let result = run()?;
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!(
        "  {name}: {seconds:.1} s, {cpu:.1} CPU s, {:.0} graphs per CPU s, peak {} MiB",
        graphs as f64 / cpu.max(0.01),
        peak_memory_mib()
    );
    Ok(result)
}

/// Processor time of this process so far, all threads together.
fn cpu_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the process ends with the last parenthesis; user and system time are fields 14 and 15 of the line.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
}

/// Peak resident memory of this process so far.
fn peak_memory_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}
