//! Cutting subgraphs of all kinds out of full graphs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rayon::prelude::*;

use crate::{
    Dataset, Failure, Table,
    annotate::Annotations,
    cut::{CastRule, Parent, Variant},
    dedup::merge_origins,
    fold::{CanonicalSettings, CompatibleSettings, OpRange, fold_canonical, fold_compatible},
    fusible::fusible_ranges,
    store::{Annotation, KernelsRow, Kind, SampleRow, StoreError},
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
    /// What a compiler fuses in the classical subgraphs of the dataset, by the kernel counts of the stage `kernels`.
    Fusible,
}

impl Method {
    const fn kind(self) -> Kind {
        match self {
            Self::Canonical(_) | Self::Compatible(_) => Kind::Classical,
            Self::SingleOps => Kind::SingleOp,
            Self::Fusible => Kind::Fusible,
        }
    }
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
    /// Ranges without a subgraph, since a value that crosses their boundary is no tensor.
    pub open: usize,
    /// What could not be read or cut.
    pub failures: Vec<Failure>,
}

/// Graphs are parsed and cut this many at a time.
const CHUNK: usize = 64;

/// Finds ranges in all graphs and writes the distinct subgraphs, each with all its origins, into the table of subgraphs of
/// `out`, in place of those of their kind.
///
/// Subgraphs of annotated graphs are complete samples, and distinct by typed hash. Of other graphs only `model.py` can be
/// told: their subgraphs have no inputs and no `weight_meta.py`, and are distinct by structural hash.
///
/// Memory holds the distinct subgraphs with their origins; folding all graphs together also holds their op names.
///
/// # Errors
/// If a table cannot be listed or written.
pub fn mine(dataset: &Dataset, method: Method, out: &Dataset) -> Result<Mined, StoreError> {
    let mut mined = Mined::default();
    let mut finder = match method {
        Method::Canonical(settings) => Finder::Canonical(settings),
        Method::Compatible(settings) => Finder::InOrder(fold_compatible(&op_names(dataset)?, &settings).into_iter()),
        Method::SingleOps => Finder::SingleOps,
        Method::Fusible => Finder::ByPath(fusible(dataset, &mut mined)?),
    };
    let distinct = cut_all(dataset, &mut finder, method.kind(), &mut mined)?;
    mined.subgraphs = distinct.len();
    let mut writer = out.replace(Table::Subgraphs)?;
    for row in out.read::<SampleRow>(Table::Subgraphs)? {
        match row {
            Ok(row) if row.kind == method.kind() => {}
            Ok(row) => writer.push(row)?,
            Err(error) => mined.failures.push(Failure::of_store(&error)),
        }
    }
    for mut row in distinct.into_values() {
        row.origins = merge_origins(row.origins);
        writer.push(row)?;
    }
    writer.finish()?;
    Ok(mined)
}

/// Where the ranges of a graph come from.
enum Finder {
    Canonical(CanonicalSettings),
    SingleOps,
    /// Those of all graphs in the order of their table.
    InOrder(std::vec::IntoIter<Vec<OpRange>>),
    ByPath(BTreeMap<String, Vec<OpRange>>),
}

impl Finder {
    /// The ranges of some graphs; graphs come in the order of their table.
    fn ranges(&mut self, rows: &[SampleRow]) -> Vec<Vec<OpRange>> {
        match self {
            Self::Canonical(settings) => {
                let sequences: Vec<Vec<&str>> =
                    rows.iter().map(|row| row.ops.iter().map(String::as_str).collect()).collect();
                fold_canonical(&sequences, settings)
            }
            Self::SingleOps => {
                let singles = |row: &SampleRow| (0..row.ops.len() as u32).map(|op| OpRange::new(op, op + 1)).collect();
                rows.iter().map(singles).collect()
            }
            Self::InOrder(ranges) => ranges.by_ref().take(rows.len()).collect(),
            Self::ByPath(ranges) => rows.iter().map(|row| ranges.remove(&row.path).unwrap_or_default()).collect(),
        }
    }
}

/// Op names of all graphs that can be read, each name once in memory.
fn op_names(dataset: &Dataset) -> Result<Vec<Vec<Arc<str>>>, StoreError> {
    let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut intern = |op: String| -> Arc<str> {
        if let Some(known) = names.get(op.as_str()) {
            return Arc::clone(known);
        }
        let name: Arc<str> = op.into();
        names.insert(Arc::clone(&name));
        name
    };
    let rows = dataset.read::<SampleRow>(Table::Graphs)?.flatten();
    Ok(rows.map(|row| row.ops.into_iter().map(&mut intern).collect()).collect())
}

/// Fusible ranges by full graph: those of the classical subgraphs, moved to where these were cut from.
fn fusible(dataset: &Dataset, mined: &mut Mined) -> Result<BTreeMap<String, Vec<OpRange>>, StoreError> {
    let mut inside: BTreeMap<String, Vec<OpRange>> = BTreeMap::new();
    for row in dataset.read::<KernelsRow>(Table::Kernels)? {
        match row {
            Ok(row) => drop(inside.insert(row.typed, fusible_ranges(&row.measured.kernels, 0))),
            Err(error) => mined.failures.push(Failure::of_store(&error)),
        }
    }
    let mut ranges: BTreeMap<String, Vec<OpRange>> = BTreeMap::new();
    for row in dataset.read::<SampleRow>(Table::Subgraphs)?.flatten().filter(|row| row.kind == Kind::Classical) {
        let Some(inside) = row.hashes.typed.and_then(|typed| inside.get(&typed)) else { continue };
        for origin in row.origins {
            let moved = inside
                .iter()
                .map(|range| OpRange::new(range.start + origin.range.start, range.end + origin.range.start));
            ranges.entry(origin.path).or_default().extend(moved);
        }
    }
    for ranges in ranges.values_mut() {
        ranges.sort_unstable();
        ranges.dedup();
    }
    Ok(ranges)
}

/// Cuts every range; the result is keyed by hash, so its order does not depend on the order of graphs.
fn cut_all(
    dataset: &Dataset,
    finder: &mut Finder,
    kind: Kind,
    mined: &mut Mined,
) -> Result<BTreeMap<String, SampleRow>, StoreError> {
    let mut distinct: BTreeMap<String, SampleRow> = BTreeMap::new();
    let mut annotations = Annotations::open(dataset)?;
    let mut graphs = dataset.read::<SampleRow>(Table::Graphs)?;
    loop {
        let read: Vec<Result<SampleRow, StoreError>> = graphs.by_ref().take(CHUNK).collect();
        if read.is_empty() {
            return Ok(distinct);
        }
        let mut rows = Vec::with_capacity(read.len());
        for row in read {
            match row {
                Ok(row) => rows.push(row),
                Err(error) => mined.failures.push(Failure::of_store(&error)),
            }
        }
        let ranges = finder.ranges(&rows);
        mined.graphs += rows.len();
        mined.ops += rows.iter().map(|row| row.ops.len()).sum::<usize>();
        mined.ranges += ranges.iter().map(Vec::len).sum::<usize>();
        mined.covered += ranges.iter().flatten().map(|range| range.len() as usize).sum::<usize>();
        let chunk: Vec<_> =
            rows.into_iter().zip(ranges).map(|(row, ranges)| (annotations.of(&row), row, ranges)).collect();
        let cuts: Vec<_> = chunk
            .into_par_iter()
            .map(|(annotation, row, ranges)| {
                cut(&row, annotation, &ranges, kind).map_err(|message| (row.path, message))
            })
            .collect();
        for cut in cuts {
            match cut {
                Ok((rows, open)) => {
                    mined.open += open;
                    rows.into_iter().for_each(|row| match distinct.get_mut(&row.path) {
                        Some(known) => known.origins.extend(row.origins),
                        None => drop(distinct.insert(row.path.clone(), row)),
                    });
                }
                Err((what, message)) => mined.failures.push(Failure { what, message }),
            }
        }
    }
}

/// The subgraphs of one graph, and the number of ranges that have none.
fn cut(
    row: &SampleRow,
    annotation: Option<Annotation>,
    ranges: &[OpRange],
    kind: Kind,
) -> Result<(Vec<SampleRow>, usize), String> {
    if ranges.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let parent = Parent::new(row, annotation, CastRule::default())?;
    let graph = parent.vary(Variant::default())?;
    let rows: Vec<SampleRow> = ranges.iter().filter_map(|&range| graph.cut(range, kind).ok()).collect();
    let open = ranges.len() - rows.len();
    Ok((rows, open))
}
