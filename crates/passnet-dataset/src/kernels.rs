//! Counts the kernels of prefixes of classical subgraphs. The counts decide the fusible ranges in them.

use std::{collections::BTreeMap, fmt};

use passnet_graph::wire;
use passnet_graphnet::Sample;
use passnet_record::{
    counted,
    services::{KernelCountRequest, KernelCounts},
};
use rayon::prelude::*;

use crate::{
    Dataset, SkippedData, Table,
    annotate::{Runner, ask, is_over_memory, side_by_side},
    fusible::{Bracketing, Compiled, PrefixCounts, measure_all},
    import::parse,
    select::select_subset,
    store::{GraphKind, KernelsRow, SampleRow, TableError},
};

/// Settings of the counting.
#[derive(Clone, Debug)]
pub struct CountSettings {
    /// Device: `cpu` counts the kernels that Inductor makes for the CPU, which needs no run of the C++ compiler; `cuda` counts
    /// the kernels that the driver launches.
    pub device: String,
    /// If true, compiles every prefix separately.
    pub exhaustive: bool,
    /// Largest number of subgraphs to count, including those that were counted before.
    pub most: usize,
    /// Largest number of ops of a subgraph to count. Longer ones are skipped, because the cost of a prefix grows with its length.
    pub longest: usize,
}

/// Result of the counting.
#[derive(Debug, Default)]
pub struct Counted {
    /// Number of subgraphs that were counted now.
    pub subgraphs: usize,
    /// Number of ops of these subgraphs.
    pub ops: usize,
    /// Number of their prefixes that were compiled. The counts of the others were concluded.
    pub prefixes: usize,
    /// Number of calls of the compiler for these prefixes.
    pub compilations: usize,
    /// Number of subgraphs that were counted before.
    pub present: usize,
    /// Subgraphs that do not compile, and data that cannot be read.
    pub failures: Vec<SkippedData>,
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} counted; prefixes: {}, in {} ({:.2} per op); {} were counted before",
            counted(self.subgraphs, "subgraph"),
            counted(self.ops, "op"),
            self.prefixes,
            counted(self.compilations, "compilation"),
            self.compilations as f64 / self.ops.max(1) as f64,
            self.present
        )
    }
}

/// Number of subgraphs that are counted at the same time. The counts of a batch are used for later batches only, so that they do
/// not depend on the number of threads.
const BATCH: usize = 8;
/// The same for exhaustive counts. They use no earlier counts, so the batch can be larger. The number is the same on all
/// machines, so that all machines write the same files.
const BATCH_EXHAUSTIVE: usize = 64;

/// Counts the kernels of annotated classical subgraphs that have no counts for this device yet. If there are more than the
/// settings permit, it counts those that cover the most transitions of ops ([`select_subset`]). Subgraphs that do not compile are
/// recorded and not tried again, except those that need more memory than a worker may use. `progress` is called with the number
/// of subgraphs done and the number of all subgraphs.
///
/// # Errors
/// If a table cannot be listed or written.
pub fn count_kernels(
    dataset: &Dataset,
    runner: &dyn Runner,
    settings: &CountSettings,
    progress: &dyn Fn(usize, usize),
) -> Result<Counted, TableError> {
    let mut counted = Counted::default();
    let mut known = BTreeMap::new();
    for row in dataset.read::<KernelsRow>(Table::Kernels)? {
        match row {
            Ok(row) if row.device == settings.device => drop(known.insert(row.typed, row.measured)),
            Ok(_) => {}
            Err(error) => counted.failures.push(SkippedData::of_store(&error)),
        }
    }
    let mut bracketing = Bracketing::new();
    let todo = todo(dataset, settings, &known, &mut bracketing, &mut counted)?;
    // Predictions depend on earlier counts. With batches of a fixed size, equal tables give equal counts on any machine.
    let size = if settings.exhaustive { BATCH_EXHAUSTIVE } else { BATCH };
    for (index, batch) in todo.chunks(size).enumerate() {
        let measure = |row| measure(row, runner, settings, &bracketing);
        let measured: Vec<_> = side_by_side(runner.width(), || batch.par_iter().map(measure).collect());
        // Each batch has a file, so an interruption loses the compilations of one batch at most.
        let mut writer = dataset.append(Table::Kernels)?;
        for (row, measured) in batch.iter().zip(measured) {
            let measured = match measured {
                Ok(measured) => measured,
                Err(message) => {
                    let is_over = is_over_memory(&message);
                    counted.failures.push(SkippedData { what: row.path.clone(), message });
                    // The memory limit is a setting of this call, so a later call with more memory may count the subgraph.
                    if is_over {
                        continue;
                    }
                    PrefixCounts::default()
                }
            };
            bracketing.learn(&row.ops, &measured);
            counted.subgraphs += 1;
            counted.ops += measured.kernels.len();
            counted.prefixes += measured.compiled.len();
            counted.compilations += measured.compilations as usize;
            writer.push(KernelsRow {
                path: row.path.clone(),
                typed: row.hashes.typed.clone().unwrap_or_default(),
                device: settings.device.clone(),
                measured,
            })?;
        }
        writer.finish()?;
        progress(todo.len().min((index + 1) * size), todo.len());
    }
    Ok(counted)
}

/// Returns the subgraphs to count, in order, after learning from those that were counted before. It chooses among all subgraphs,
/// so that an interrupted call continues with the remaining ones. Memory holds the distinct subgraphs.
fn todo(
    dataset: &Dataset,
    settings: &CountSettings,
    known: &BTreeMap<String, PrefixCounts>,
    bracketing: &mut Bracketing,
    counted: &mut Counted,
) -> Result<Vec<SampleRow>, TableError> {
    let mut all = Vec::new();
    for row in dataset.read::<SampleRow>(Table::Subgraphs)? {
        match row {
            Ok(row) if row.kind != GraphKind::Classical || row.hashes.typed.is_none() => {}
            Ok(row) if row.ops.len() > settings.longest => {}
            Ok(row) => all.push(row),
            Err(error) => counted.failures.push(SkippedData::of_store(&error)),
        }
    }
    // Sorted by path, because the order of a table depends on the order in which graphs were imported.
    all.sort_by(|a, b| a.path.cmp(&b.path));
    let sequences: Vec<Vec<&str>> = all.iter().map(|row| row.ops.iter().map(String::as_str).collect()).collect();
    let chosen = select_subset(&sequences, settings.most);
    drop(sequences);
    let mut all: Vec<Option<SampleRow>> = all.into_iter().map(Some).collect();
    let mut todo = Vec::new();
    for row in chosen.into_iter().filter_map(|index| all[index].take()) {
        match row.hashes.typed.as_ref().and_then(|typed| known.get(typed)) {
            Some(measured) => {
                counted.present += 1;
                bracketing.learn(&row.ops, measured);
            }
            None => todo.push(row),
        }
    }
    Ok(todo)
}

fn measure(
    row: &SampleRow,
    runner: &dyn Runner,
    settings: &CountSettings,
    bracketing: &Bracketing,
) -> Result<PrefixCounts, String> {
    let sample: Sample = parse(&row.path, &row.files).map_err(|error| error.to_string())?;
    let mut request = KernelCountRequest {
        id: row.path.clone(),
        graph: wire::to_value(&sample.graph.with_device(&settings.device, None)),
        inputs: sample.tensors,
        device: settings.device.clone(),
        prefixes: Vec::new(),
    };
    let compile = |prefixes: &[usize]| -> Result<Compiled, String> {
        request.prefixes = prefixes.to_vec();
        let reply: KernelCounts = ask(runner, &request)?;
        if reply.kernels.len() != prefixes.len() {
            return Err(format!("malformed reply: {} counts of {} prefixes", reply.kernels.len(), prefixes.len()));
        }
        Ok(Compiled { kernels: reply.kernels, compilations: reply.compilations })
    };
    if settings.exhaustive { measure_all(row.ops.len(), compile) } else { bracketing.measure(&row.ops, compile) }
}
