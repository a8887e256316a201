//! Cutting classical and single-op subgraphs out of full graphs.

use std::collections::BTreeMap;

use passnet_graph::{Graph, SliceOrder, hash};
use passnet_python::{model, sample::MODEL};
use passnet_record::ContentId;
use rayon::prelude::*;

use crate::{
    Dataset, Failure, Table,
    dedup::merge_origins,
    fold::{CanonicalSettings, CompatibleSettings, OpRange, fold_canonical, fold_compatible},
    store::{Hashes, Kind, Origin, SampleFiles, SampleRow, StoreError},
};

/// How to find ranges.
#[derive(Clone, Copy, Debug)]
pub enum Method {
    /// Each graph on its own: the default.
    Canonical(CanonicalSettings),
    /// All graphs together, as published.
    Compatible(CompatibleSettings),
    /// Every op.
    SingleOps,
}

/// What was cut out.
#[derive(Debug, Default)]
pub struct Mined {
    /// Full graphs read.
    pub graphs: usize,
    /// Their ops.
    pub ops: usize,
    /// Ops that lie in a range.
    pub covered: usize,
    /// Ranges found.
    pub ranges: usize,
    /// Distinct subgraphs written.
    pub subgraphs: usize,
    /// What could not be read or cut.
    pub failures: Vec<Failure>,
}

/// Graphs are parsed and cut this many at a time.
const CHUNK: usize = 64;

/// Finds ranges in all graphs and writes the distinct subgraphs (by structural hash), each with all its origins, as the
/// table of subgraphs of `out`, in place of what it holds.
///
/// A subgraph's `model.py` is known at once; shapes of its inputs are known only from running the graph, so its row has
/// no inputs and no `weight_meta.py`.
///
/// Memory holds op names of all graphs, and the distinct subgraphs with their origins.
///
/// # Errors
/// If a table cannot be listed or written.
pub fn mine(dataset: &Dataset, method: Method, out: &Dataset) -> Result<Mined, StoreError> {
    let mut mined = Mined::default();
    let sequences = op_names(dataset, &mut mined)?;
    let ranges = match method {
        Method::Canonical(settings) => fold_canonical(&sequences, &settings),
        Method::Compatible(settings) => fold_compatible(&sequences, &settings),
        Method::SingleOps => {
            let singles = |ops: &Vec<String>| (0..ops.len() as u32).map(|op| OpRange::new(op, op + 1)).collect();
            sequences.iter().map(singles).collect()
        }
    };
    mined.graphs = sequences.len();
    mined.ops = sequences.iter().map(Vec::len).sum();
    mined.ranges = ranges.iter().map(Vec::len).sum();
    mined.covered = ranges.iter().flatten().map(|range| range.len() as usize).sum();
    drop(sequences);
    let kind = if matches!(method, Method::SingleOps) { Kind::SingleOp } else { Kind::Classical };
    let distinct = cut_all(dataset, &ranges, kind, &mut mined)?;
    mined.subgraphs = distinct.len();
    let mut writer = out.replace(Table::Subgraphs)?;
    for mut row in distinct.into_values() {
        row.origins = merge_origins(row.origins);
        writer.push(row)?;
    }
    writer.finish()?;
    Ok(mined)
}

/// Op names of all graphs that can be read. Damage is noted once, here.
fn op_names(dataset: &Dataset, mined: &mut Mined) -> Result<Vec<Vec<String>>, StoreError> {
    let mut sequences = Vec::new();
    for row in dataset.read::<SampleRow>(Table::Graphs)? {
        match row {
            Ok(row) => sequences.push(row.ops),
            Err(error) => mined.failures.push(Failure::of_store(&error)),
        }
    }
    Ok(sequences)
}

/// Cuts every range; the result is keyed by structural hash, so its order does not depend on the order of graphs.
fn cut_all(
    dataset: &Dataset,
    ranges: &[Vec<OpRange>],
    kind: Kind,
    mined: &mut Mined,
) -> Result<BTreeMap<String, SampleRow>, StoreError> {
    let mut distinct: BTreeMap<String, SampleRow> = BTreeMap::new();
    let mut graphs = dataset.read::<SampleRow>(Table::Graphs)?.flatten().zip(ranges);
    loop {
        let chunk: Vec<(SampleRow, &Vec<OpRange>)> = graphs.by_ref().take(CHUNK).collect();
        if chunk.is_empty() {
            return Ok(distinct);
        }
        let rows: Vec<_> = chunk.par_iter().map(|(row, ranges)| cut(row, ranges, kind)).collect();
        for ((parent, _), rows) in chunk.iter().zip(rows) {
            match rows {
                Ok(rows) => rows.into_iter().for_each(|(hash, row)| match distinct.get_mut(&hash) {
                    Some(known) => known.origins.extend(row.origins),
                    None => drop(distinct.insert(hash, row)),
                }),
                Err(message) => mined.failures.push(Failure { what: parent.path.clone(), message }),
            }
        }
    }
}

/// The subgraphs of one graph with their structural hashes.
fn cut(parent: &SampleRow, ranges: &[OpRange], kind: Kind) -> Result<Vec<(String, SampleRow)>, String> {
    let text = parent.files.text(MODEL).unwrap_or_default();
    let graph = model::parse(&parent.path, text).map_err(|error| error.to_string())?;
    ranges.iter().map(|&range| cut_one(parent, &graph, range, kind)).collect()
}

fn cut_one(parent: &SampleRow, graph: &Graph, range: OpRange, kind: Kind) -> Result<(String, SampleRow), String> {
    // In order of definition the text does not depend on what the values are called.
    let slice = graph.slice(range.indices(), SliceOrder::ByDefinition).map_err(|error| error.to_string())?;
    let ops = slice.graph.op_names();
    let structure = hash::structural(&slice.graph).to_string();
    let text = model::print(&slice.graph) + "\n";
    let hashes = Hashes {
        text: Some(ContentId::of(text.as_bytes()).to_string()),
        structure: Some(structure.clone()),
        ops: Some(ContentId::of_parts(ops.iter().map(String::as_bytes)).to_string()),
        ..Hashes::default()
    };
    let mut files = SampleFiles::default();
    files.insert(MODEL.to_owned(), text.into_bytes());
    let row = SampleRow {
        path: format!("{kind}/{structure}"),
        kind,
        source: parent.source.clone(),
        domain: parent.domain.clone(),
        ops,
        hashes,
        origins: vec![Origin { path: parent.path.clone(), range }],
        files,
        ..SampleRow::default()
    };
    Ok((structure, row))
}
