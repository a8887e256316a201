//! Dedup and fold over many graphs: `cargo bench -p passnet-dataset --bench scale -- 10000 100000`.
//!
//! Graphs are the smallest of the public samples under other names, two of three with another integer in each tuple `(1, 1)`.
//! Each is made as a graph, and is printed and hashed as an import would find it, which is checked on the first of each.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../tests/shared_data/mod.rs"]
mod shared_data;

use std::{error::Error, fs, path::Path, time::Instant};

use passnet_dataset::{
    Dataset, Table,
    dedup::dedup,
    fold::CanonicalSettings,
    folders::{find_samples, read_sample},
    hashes::Rung,
    import::describe,
    mine::{Method, mine},
    store::{GraphKind, Input, Row, SampleFiles, SampleRow, TableWriter},
};
use passnet_graph::{Arg, Builder, Graph, ValueId, VerifyError, hash};
use passnet_graphnet::{graph_module, metas};
use passnet_record::{ContentId, TensorMeta};
use rayon::prelude::*;

/// Error of a stage.
type Failure = Box<dyn Error + Send + Sync>;

/// Graphs that are copied, and most ops of one.
const BASES: usize = 64;
const OPS: usize = 100;
/// Graphs in a file.
const SHARD: usize = 8192;
/// Names of the files that depend on the graph.
const MODEL: &str = "model.py";
const WEIGHT_META: &str = "weight_meta.py";

fn main() -> Result<(), Failure> {
    let sizes: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let scratch = tempfile::tempdir()?;
    let Some(()) = shared_data::unpack("graphnet-public.tar.zst", scratch.path()) else { return Ok(()) };
    let bases = bases(&scratch.path().join("samples"))?;
    fs::remove_dir_all(scratch.path().join("samples"))?;
    let ops: usize = bases.iter().map(|base| base.row.ops.len()).sum();
    println!("{} graphs of {} ops on average, {} threads", bases.len(), ops / BASES, rayon::current_num_threads());
    for size in if sizes.is_empty() { vec![10_000] } else { sizes } {
        let dataset = Dataset::at(scratch.path().join(size.to_string()));
        println!("{size} graphs");
        let bytes = stage("make and write", size, || write(&dataset, &bases, size))?;
        println!("    {} MB of files, {} MB of Parquet", bytes / 1_000_000, parquet_bytes(&dataset, Table::Graphs)?);
        let found = stage("dedup", size, || dedup(&dataset, Table::Graphs, Rung::Typed, &dataset))?;
        println!("    {} kept, {} MB of Parquet", found.kept, parquet_bytes(&dataset, Table::Graphs)?);
        let mined =
            stage("fold", found.kept, || mine(&dataset, Method::Canonical(CanonicalSettings::default()), &dataset))?;
        let parquet = parquet_bytes(&dataset, Table::Subgraphs)?;
        println!("    {} ranges, {} distinct subgraphs, {parquet} MB of Parquet", mined.ranges, mined.subgraphs);
        fs::remove_dir_all(dataset.root())?;
    }
    Ok(())
}

/// A graph that is copied.
struct Base {
    row: SampleRow,
    graph: Graph,
    tensors: Vec<TensorMeta>,
}

fn bases(samples: &Path) -> Result<Vec<Base>, Failure> {
    let mut bases = Vec::new();
    for path in find_samples(samples)? {
        let files = read_sample(&samples.join(&path))?;
        let Some(text) = files.text(MODEL).filter(|text| text.len() < 60_000) else { continue };
        let (Ok(graph), Some(metas)) = (graph_module::parse(&path, text), files.text(WEIGHT_META)) else { continue };
        let Ok(tensors) = metas::parse(&path, metas) else { continue };
        let Ok(row) = describe(&path, GraphKind::Full, files) else { continue };
        if row.ops.len() > OPS || tensors.len() != graph.num_inputs() {
            continue;
        }
        bases.push(Base { row, graph, tensors });
        if bases.len() == BASES {
            break;
        }
    }
    for (index, base) in bases.iter().enumerate() {
        let made = base.copy(index + BASES)?;
        let found = describe(&made.path, GraphKind::Full, made.files.clone())?;
        if made != found {
            return Err(format!("a copy of {} is not what its files say", base.row.path).into());
        }
    }
    Ok(bases)
}

/// Writes `size` graphs, and gives the bytes of their files.
fn write(dataset: &Dataset, bases: &[Base], size: usize) -> Result<usize, Failure> {
    let folder = dataset.root().join(Table::Graphs.name());
    let shards: Vec<usize> = (0..size.div_ceil(SHARD)).collect();
    let shard = |number: usize| -> Result<usize, Failure> {
        let mut writer = TableWriter::create(&folder.join(format!("part-{number:05}.parquet")))?;
        let mut bytes = 0;
        for index in number * SHARD..size.min((number + 1) * SHARD) {
            let row = bases[index % bases.len()].copy(index)?;
            bytes += row.raw_bytes();
            writer.push(row)?;
        }
        writer.finish()?;
        Ok(bytes)
    };
    shards.into_par_iter().map(shard).sum()
}

impl Base {
    /// The copy that is number `index` of all.
    fn copy(&self, index: usize) -> Result<SampleRow, VerifyError> {
        let round = index / BASES;
        let prefix = format!("r{round}_");
        let graph = self.graph_of(&prefix, if round.is_multiple_of(3) { 1 } else { round as i64 })?;
        let mut tensors = self.tensors.clone();
        for tensor in &mut tensors {
            tensor.name.insert_str(0, &prefix);
        }
        let text = graph_module::print(&graph) + "\n";
        let mut row =
            SampleRow { path: format!("scale/{index:07}"), files: SampleFiles::default(), ..self.row.clone() };
        for (input, tensor) in row.inputs.iter_mut().zip(&tensors) {
            *input = Input { name: tensor.name.clone(), ..input.clone() };
        }
        row.hashes.text = Some(ContentId::of(text.as_bytes()).to_string());
        row.hashes.typed = Some(hash::typed(&graph, &tensors).to_string());
        row.hashes.structure = Some(hash::structural(&graph).to_string());
        for (name, content) in self.row.files.iter().filter(|(name, _)| ![MODEL, WEIGHT_META].contains(name)) {
            row.files.insert(name.to_owned(), content.to_vec());
        }
        row.files.insert(MODEL.to_owned(), text.into_bytes());
        row.files.insert(WEIGHT_META.to_owned(), metas::print(&tensors).into_bytes());
        Ok(row)
    }

    /// The graph with `prefix` before its names, and `(1, one)` for `(1, 1)`.
    fn graph_of(&self, prefix: &str, one: i64) -> Result<Graph, VerifyError> {
        let graph = &self.graph;
        let mut builder = Graph::builder();
        for name in graph.input_names() {
            builder.input(&format!("{prefix}{name}"));
        }
        for (node, id) in graph.nodes().zip((0..).map(passnet_graph::NodeId)) {
            let args: Vec<Arg> = node.args.iter().map(|&arg| changed(graph, arg, one, &mut builder)).collect();
            let kwargs: Vec<(&str, Arg)> = node
                .kwargs
                .iter()
                .map(|&(key, arg)| (graph.str(key), changed(graph, arg, one, &mut builder)))
                .collect();
            builder.call(&format!("{prefix}{}", node.name), node.callee, &args, &kwargs);
            node.frees.iter().for_each(|&value| builder.free_after(id, value));
        }
        let outputs: Vec<Arg> = graph
            .outputs()
            .iter()
            .map(|&output| builder.copy_arg(graph, output, &mut |value: ValueId| value))
            .collect();
        builder.finish(&outputs)
    }
}

/// A copy of an argument, `(1, one)` if it is `(1, 1)`.
fn changed(graph: &Graph, arg: Arg, one: i64, builder: &mut Builder) -> Arg {
    match arg {
        Arg::Tuple(range) if matches!(graph.elements(range), [Arg::Int(1), Arg::Int(1)]) => {
            builder.tuple(&[Arg::Int(1), Arg::Int(one)])
        }
        _ => builder.copy_arg(graph, arg, &mut |value| value),
    }
}

fn stage<R, E>(name: &str, graphs: usize, run: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
    // Resets the peak that the kernel records.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let result = run()?;
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!(
        "  {name}: {seconds:.1} s, {cpu:.1} CPU s, {:.0} graphs/s, {:.0} per CPU s, peak {} MiB",
        graphs as f64 / seconds.max(0.01),
        graphs as f64 / cpu.max(0.01),
        peak_memory_mib()
    );
    Ok(result)
}

/// Returns the CPU time that all threads of this process have used.
fn cpu_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the process ends with the last parenthesis; user and system time are fields 14 and 15 of the line.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
}

/// Size of a table on disk, in megabytes.
fn parquet_bytes(dataset: &Dataset, table: Table) -> Result<u64, Failure> {
    let sizes = dataset.parts(table)?.into_iter().map(|part| Ok(fs::metadata(part)?.len()));
    Ok(sizes.sum::<std::io::Result<u64>>()? / 1_000_000)
}

/// Peak resident memory since it was last reset.
fn peak_memory_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}
