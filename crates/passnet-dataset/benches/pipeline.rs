//! The stages over the public samples: `cargo bench -p passnet-dataset --bench pipeline`.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../tests/shared_data/mod.rs"]
mod shared_data;

use std::{error::Error, fs, path::Path, time::Instant};

use passnet_dataset::{
    Dataset, Table,
    curate::curate,
    dedup::dedup,
    fold::CanonicalSettings,
    hashes::Rung,
    import::{export, import_graphs},
    mine::{Method, mine},
};

fn main() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let Some(()) = shared_data::unpack("graphnet-public.tar.zst", scratch.path()) else { return Ok(()) };
    let samples = scratch.path().join("samples");
    let dataset = Dataset::at(scratch.path().join("dataset"));

    let imported = stage("import", || import_graphs(&dataset, &samples))?;
    println!("  {} samples, {} not readable", imported.samples, imported.failures.len());
    imported.failures.iter().for_each(|failure| println!("  {}", failure.message));
    println!("  {:.1} MB of folders, {:.1} MB of Parquet", megabytes(&samples)?, megabytes(dataset.root())?);

    let exported = stage("export", || export(&dataset, Table::Graphs, &scratch.path().join("exported")))?;
    println!("  {} samples", exported.samples);

    let found = stage("dedup", || dedup(&dataset, Table::Graphs, Rung::Typed, &dataset))?;
    let ladder: Vec<String> = found.distinct.iter().map(|(rung, count)| format!("{} {count}", rung.name())).collect();
    println!("  of {}: {}; kept {}", found.rows, ladder.join(", "), found.kept);

    let mined = stage("fold", || mine(&dataset, Method::Canonical(CanonicalSettings::default()), &dataset))?;
    let percent = 100.0 * mined.covered as f64 / mined.ops as f64;
    println!("  {} ranges, {} distinct subgraphs, {percent:.1} % of {} ops", mined.ranges, mined.subgraphs, mined.ops);
    println!("  {:.1} MB of Parquet", megabytes(&dataset.root().join("subgraphs"))?);

    let curated = stage("curate", || curate(&dataset, 200))?;
    println!("  {} for evaluation, {} for training, {} graphs withheld", curated.eval, curated.train, curated.withheld);
    Ok(())
}

fn stage<R>(name: &str, run: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = run();
    println!("{name}: {:.1} s, peak {} MiB", start.elapsed().as_secs_f64(), peak_memory_mib());
    result
}

/// Peak resident memory of this process so far.
fn peak_memory_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Size of all files below a folder.
fn megabytes(folder: &Path) -> std::io::Result<f64> {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                bytes += entry.metadata()?.len();
            }
        }
    }
    Ok(bytes as f64 / 1e6)
}
