//! Mining: cuts subgraphs of all kinds out of full graphs.

use std::{
    collections::{BTreeMap, BTreeSet, hash_map::Entry},
    path::Path,
    sync::Arc,
};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Dataset, PartWriter, SkippedData, Table,
    annotate::Annotations,
    cut::{CastRule, Parent, Variant},
    dedup::merge_origins,
    fold::{CanonicalSettings, CompatibleSettings, OpRange, fold_canonical, fold_compatible},
    fusible::fusible_ranges,
    hashes::half,
    sorter::Sorter,
    store::{Annotation, GraphKind, KernelsRow, SampleRow, SubgraphOrigin, TableError},
};

/// Method of finding ranges.
#[derive(Clone, Copy, Debug)]
pub enum Method {
    /// Folds each graph separately. This is the default.
    Canonical(CanonicalSettings),
    /// Folds all graphs together, as the published tool does.
    Compatible(CompatibleSettings),
    /// Makes a range of every op.
    SingleOps,
    /// Takes the ranges that a compiler fuses in the classical subgraphs of the dataset, according to the counts of the stage
    /// `kernels`.
    Fusible,
}

impl Method {
    const fn kind(self) -> GraphKind {
        match self {
            Self::Canonical(_) | Self::Compatible(_) => GraphKind::Classical,
            Self::SingleOps => GraphKind::SingleOp,
            Self::Fusible => GraphKind::Fusible,
        }
    }
}

/// Result of the mining.
#[derive(Debug, Default)]
pub struct Mined {
    /// Number of full graphs that were read.
    pub graphs: usize,
    /// Number of ops of these graphs.
    pub ops: usize,
    /// Number of ops that are in a range.
    pub covered: usize,
    /// Number of ranges that were found.
    pub ranges: usize,
    /// Number of distinct subgraphs that were written.
    pub subgraphs: usize,
    /// Number of ranges without a subgraph, because a value that crosses their boundary is not a tensor.
    pub open: usize,
    /// Graphs that could not be read or cut.
    pub failures: Vec<SkippedData>,
}

/// Number of graphs that are parsed and cut at a time.
const CHUNK: usize = 256;

/// Finds ranges in all graphs and writes the distinct subgraphs, each with all of its origins, into the table of subgraphs of
/// `out`. They replace the subgraphs of the same kind in that table.
///
/// Subgraphs of annotated graphs are complete samples and are compared by typed hash. For a graph without annotation only
/// `model.py` is known: its subgraphs have no inputs and no `weight_meta.py`, and are compared by structural hash.
///
/// Memory holds the ids and origins of the distinct subgraphs, and 256 MiB of rows. Further rows wait in files next to the table.
/// Folding all graphs together also keeps their op names in memory.
///
/// # Errors
/// If a table cannot be listed or written.
pub fn mine(dataset: &Dataset, method: Method, out: &Dataset) -> Result<Mined, TableError> {
    let mut mined = Mined::default();
    let mut finder = match method {
        Method::Canonical(settings) => Finder::Canonical(settings),
        // The published folding depends on the whole batch, so all ranges are found before any range is cut.
        Method::Compatible(settings) => Finder::InOrder(fold_compatible(&op_names(dataset)?, &settings).into_iter()),
        Method::SingleOps => Finder::SingleOps,
        Method::Fusible => Finder::ByPath(fusible(dataset, &mut mined)?),
    };
    let distinct = Distinct::new(&out.root().join(Table::Subgraphs.name()));
    let distinct = cut_all(dataset, &mut finder, method.kind(), distinct, &mut mined)?;
    write(distinct, method.kind(), out, mined)
}

/// Writes the subgraphs that were mined from parts of a table, in the order of the parts, as [`mine`] does. `mined` contains the
/// counts of the parts.
pub(crate) fn merge_parts(
    parts: impl Iterator<Item = Result<SampleRow, TableError>>,
    kind: GraphKind,
    out: &Dataset,
    mined: Mined,
) -> Result<Mined, TableError> {
    let mut distinct = Distinct::new(&out.root().join(Table::Subgraphs.name()));
    let mut numbers = FxHashMap::default();
    for row in parts {
        distinct.add_mined(row?, &mut numbers)?;
    }
    write(distinct, kind, out, mined)
}

/// Replaces the subgraphs of a kind by new ones.
fn write(distinct: Distinct, kind: GraphKind, out: &Dataset, mut mined: Mined) -> Result<Mined, TableError> {
    mined.subgraphs = distinct.origins.len();
    let mut writer = out.replace(Table::Subgraphs)?;
    for row in out.read::<SampleRow>(Table::Subgraphs)? {
        match row {
            Ok(row) if row.kind == kind => {}
            Ok(row) => writer.push(row)?,
            Err(error) => {
                writer.keep_damaged(error.path());
                mined.failures.push(SkippedData::of_store(&error));
            }
        }
    }
    distinct.write(&mut writer)?;
    writer.finish()?;
    Ok(mined)
}

/// Source of the ranges of a graph.
enum Finder {
    Canonical(CanonicalSettings),
    SingleOps,
    /// Ranges of all graphs, in the order of the table of graphs.
    InOrder(std::vec::IntoIter<Vec<OpRange>>),
    ByPath(BTreeMap<String, Vec<OpRange>>),
}

impl Finder {
    /// Returns the ranges of some graphs. Graphs have to come in the order of their table.
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

/// Returns the op names of all graphs that can be read. Each name is in memory once.
fn op_names(dataset: &Dataset) -> Result<Vec<Vec<Arc<str>>>, TableError> {
    let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut intern = |op: String| -> Arc<str> {
        if let Some(known) = names.get(op.as_str()) {
            return Arc::clone(known);
        }
        let name: Arc<str> = op.into();
        names.insert(Arc::clone(&name));
        name
    };
    // Damaged rows are skipped here and reported by the pass that cuts. Both passes have to skip the same rows, because ranges
    // are assigned by position.
    let rows = dataset.read::<SampleRow>(Table::Graphs)?.flatten();
    Ok(rows.map(|row| row.ops.into_iter().map(&mut intern).collect()).collect())
}

/// Returns the fusible ranges of each full graph: those of its classical subgraphs, moved to the place where each was cut.
fn fusible(dataset: &Dataset, mined: &mut Mined) -> Result<BTreeMap<String, Vec<OpRange>>, TableError> {
    let mut inside: BTreeMap<String, Vec<OpRange>> = BTreeMap::new();
    for row in dataset.read::<KernelsRow>(Table::Kernels)? {
        match row {
            Ok(row) => drop(inside.insert(row.typed, fusible_ranges(&row.measured.kernels, 0))),
            Err(error) => mined.failures.push(SkippedData::of_store(&error)),
        }
    }
    let mut ranges: BTreeMap<String, Vec<OpRange>> = BTreeMap::new();
    for row in dataset.read::<SampleRow>(Table::Subgraphs)?.flatten().filter(|row| row.kind == GraphKind::Classical) {
        // Equal subgraphs have equal counts, so one measurement applies to all places from which a subgraph was cut.
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

/// Distinct subgraphs: their rows, in files if there are too many, and their origins in memory.
struct Distinct {
    rows: Sorter,
    /// Paths of the graphs that contain the ranges.
    paths: Vec<String>,
    /// Ranges with indices into `paths`, by half of the id of a subgraph.
    origins: FxHashMap<u128, Vec<(u32, OpRange)>>,
}

impl Distinct {
    fn new(folder: &Path) -> Self {
        Self { rows: Sorter::new(folder), paths: Vec::new(), origins: FxHashMap::default() }
    }

    /// Adds the subgraphs of the next graph.
    fn add(&mut self, path: String, found: Vec<MinedSubgraph>) -> Result<(), TableError> {
        let graph = self.paths.len() as u32;
        self.paths.push(path);
        for MinedSubgraph { key, range, row } in found {
            match self.origins.entry(key) {
                Entry::Occupied(mut known) => known.get_mut().push((graph, range)),
                Entry::Vacant(place) => {
                    // The row is missing only if the subgraph was known when the chunk was cut. Then the entry is occupied.
                    if let Some(row) = row {
                        place.insert(vec![(graph, range)]);
                        self.rows.push(row)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a subgraph that was mined from a part of the table. Parts come in order. `numbers` are the indices of paths.
    fn add_mined(&mut self, mut row: SampleRow, numbers: &mut FxHashMap<String, u32>) -> Result<(), TableError> {
        let Some(key) = key(&row) else { return Ok(()) };
        let mut found = Vec::with_capacity(row.origins.len());
        for SubgraphOrigin { path, range } in std::mem::take(&mut row.origins) {
            let number = *numbers.entry(path).or_insert_with_key(|path| {
                self.paths.push(path.clone());
                self.paths.len() as u32 - 1
            });
            found.push((number, range));
        }
        match self.origins.entry(key) {
            Entry::Occupied(mut known) => known.get_mut().extend(found),
            Entry::Vacant(place) => {
                place.insert(found);
                self.rows.push(row)?;
            }
        }
        Ok(())
    }

    /// Writes the subgraphs in the order of their ids, so that the order of graphs has no effect.
    fn write(mut self, writer: &mut PartWriter<SampleRow>) -> Result<(), TableError> {
        for row in self.rows.finish()? {
            let mut row = row?;
            let origins = key(&row).and_then(|key| self.origins.remove(&key)).unwrap_or_default();
            let origin = |(graph, range)| SubgraphOrigin { path: self.paths[graph as usize].clone(), range };
            row.origins = merge_origins(origins.into_iter().map(origin).collect());
            writer.push(row)?;
        }
        Ok(())
    }
}

/// Returns half of the id of a subgraph.
fn key(row: &SampleRow) -> Option<u128> {
    row.hashes.typed.as_deref().or(row.hashes.structure.as_deref()).and_then(half)
}

/// Cuts all ranges of all graphs.
fn cut_all(
    dataset: &Dataset,
    finder: &mut Finder,
    kind: GraphKind,
    mut distinct: Distinct,
    mined: &mut Mined,
) -> Result<Distinct, TableError> {
    let mut annotations = Annotations::open(dataset)?;
    let mut graphs = dataset.read::<SampleRow>(Table::Graphs)?;
    let mut next = || -> Vec<Result<SampleRow, TableError>> { graphs.by_ref().take(CHUNK).collect() };
    let mut read = next();
    while !read.is_empty() {
        let mut rows = Vec::with_capacity(read.len());
        for row in read {
            match row {
                Ok(row) => rows.push(row),
                Err(error) => mined.failures.push(SkippedData::of_store(&error)),
            }
        }
        let ranges = finder.ranges(&rows);
        mined.graphs += rows.len();
        mined.ops += rows.iter().map(|row| row.ops.len()).sum::<usize>();
        mined.ranges += ranges.iter().map(Vec::len).sum::<usize>();
        mined.covered += ranges.iter().flatten().map(|range| range.len() as usize).sum::<usize>();
        let chunk: Vec<_> =
            rows.into_iter().zip(ranges).map(|(row, ranges)| (annotations.of(&row), row, ranges)).collect();
        let known = &distinct.origins;
        let cut_one = |(annotation, row, ranges): (_, SampleRow, Vec<OpRange>)| {
            (cut(&row, annotation, &ranges, kind, known), row.path)
        };
        // The next graphs are read while these are cut.
        let (following, cuts) = rayon::join(&mut next, || chunk.into_par_iter().map(cut_one).collect::<Vec<_>>());
        for (cut, path) in cuts {
            match cut {
                Ok((found, open)) => {
                    mined.open += open;
                    distinct.add(path, found)?;
                }
                Err(message) => mined.failures.push(SkippedData { what: path, message }),
            }
        }
        read = following;
    }
    Ok(distinct)
}

/// A subgraph at one place of a graph.
struct MinedSubgraph {
    /// Half of the id of the subgraph.
    key: u128,
    range: OpRange,
    /// Row of the subgraph; `None` if the subgraph is known already.
    row: Option<SampleRow>,
}

/// Returns the subgraphs of one graph, with rows for those that are not in `known`, and the number of ranges without a subgraph.
fn cut(
    row: &SampleRow,
    annotation: Option<Annotation>,
    ranges: &[OpRange],
    kind: GraphKind,
    known: &FxHashMap<u128, Vec<(u32, OpRange)>>,
) -> Result<(Vec<MinedSubgraph>, usize), String> {
    if ranges.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let parent = Parent::new(row, annotation, CastRule::default())?;
    let graph = parent.vary(Variant::default())?;
    let mut fresh = FxHashSet::default();
    let mut found = Vec::with_capacity(ranges.len());
    for &range in ranges {
        // This is no failure: boundary values that are not tensors are common, and such ranges are counted as `open`.
        let Ok(piece) = graph.piece(range) else { continue };
        let Some(key) = half(piece.id().as_str()) else { continue };
        if known.contains_key(&key) || fresh.contains(&key) {
            found.push(MinedSubgraph { key, range, row: None });
        } else if let Ok(row) = graph.sample(piece, kind) {
            fresh.insert(key);
            found.push(MinedSubgraph { key, range, row: Some(row) });
        }
    }
    let open = ranges.len() - found.len();
    Ok((found, open))
}
