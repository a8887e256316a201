//! Graphs of tasks: unchanged ones, and variants of them.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::{candidates::CandidateGroup, class::MANY_STRUCTURES, plan::SuitePlan};
use crate::{
    Dataset, Table,
    annotate::{Annotations, Varier, side_by_side},
    cut::{CastRule, Parent, Variant},
    fold::OpRange,
    store::{Annotation, SampleRow, TableError},
};

/// Unchanged graphs of a task beyond those that it needs, because some do not run.
const SPARE_GRAPHS: usize = 3;

/// Full graphs whose variants are made at the same time, for each process of the runner.
const GRAPHS_PER_PROCESS: usize = 4;

/// Number of variants of a graph that keep its extents: the graph itself and two casts.
const UNSIZED: usize = 3;

/// Graphs that a task may have, in the order of preference.
#[derive(Default)]
pub(super) struct VariedRows {
    pub(super) unchanged: Vec<SampleRow>,
    pub(super) variants: Vec<SampleRow>,
    /// Paths of the unchanged graphs.
    pub(super) captured: BTreeSet<String>,
}

/// A row with its place among the rows of its task: unchanged graphs by rank, then variants.
type RankedRow = ((usize, usize), SampleRow);

struct Cut<'a> {
    key: &'a str,
    /// Position of the base graph in its task.
    rank: usize,
    range: OpRange,
    /// Number of variants to make, including the unchanged graph.
    variants: usize,
}

impl Cut<'_> {
    /// Returns the place of a variant. Base graphs begin with different variants, so that the first few differ in dtype and
    /// extents.
    fn place(&self, index: usize) -> (usize, usize) {
        let others = self.variants - 1;
        if index == 0 { (0, self.rank) } else { (1 + (index - 1 + others - self.rank % others) % others, self.rank) }
    }
}

/// Returns the number of unchanged graphs of a task that come before variants.
pub(super) fn base_graphs(graphs: usize) -> usize {
    graphs.min(MANY_STRUCTURES.max(graphs / 2))
}

/// Returns candidate rows for each wanted task.
pub(super) fn vary_all(
    dataset: &Dataset,
    plan: &SuitePlan,
    wanted: &[(&str, &CandidateGroup)],
    casts: CastRule,
    varier: &Varier<'_>,
) -> Result<BTreeMap<String, VariedRows>, TableError> {
    // Ranges to cut, by full graph, each with its task.
    let mut cuts: BTreeMap<&str, Vec<Cut<'_>>> = BTreeMap::new();
    for (key, group) in wanted {
        let bases = group.spread(base_graphs(plan.graphs) + SPARE_GRAPHS);
        // Twice as many as the task has room for, because some variants do not run.
        let variants = (2 * plan.graphs).div_ceil(bases.len()).max(2);
        for (rank, base) in bases.into_iter().enumerate() {
            cuts.entry(&base.path).or_default().push(Cut { key, rank, range: base.range, variants });
        }
    }
    let mut found: BTreeMap<String, Vec<RankedRow>> = BTreeMap::new();
    let mut annotations = Annotations::open(dataset)?;
    let mut chunk: Vec<(SampleRow, Annotation, Vec<Cut<'_>>)> = Vec::new();
    let size = GRAPHS_PER_PROCESS * varier.runner.width().max(1);
    let mut flush = |chunk: &mut Vec<(SampleRow, Annotation, Vec<Cut<'_>>)>| {
        let cut = |(row, annotation, cuts): (SampleRow, Annotation, Vec<Cut<'_>>)| {
            rows_of(row, annotation, &cuts, plan, casts, varier)
        };
        let rows: Vec<_> = side_by_side(varier.runner.width(), || chunk.par_drain(..).map(cut).collect());
        for (key, row) in rows.into_iter().flatten() {
            found.entry(key).or_default().push(row);
        }
    };
    for row in dataset.read::<SampleRow>(Table::Graphs)?.flatten() {
        let Some(cuts) = cuts.remove(row.path.as_str()) else { continue };
        let Some(annotation) = annotations.of(&row) else { continue };
        chunk.push((row, annotation, cuts));
        if chunk.len() == size {
            flush(&mut chunk);
        }
    }
    flush(&mut chunk);
    Ok(found.into_iter().map(|(key, rows)| (key, in_order(rows))).collect())
}

/// Returns the rows that are cut from one full graph, each with its task.
fn rows_of(
    row: SampleRow,
    annotation: Annotation,
    cuts: &[Cut<'_>],
    plan: &SuitePlan,
    casts: CastRule,
    varier: &Varier<'_>,
) -> Vec<(String, RankedRow)> {
    let most = cuts.iter().map(|cut| cut.variants).max().unwrap_or(0);
    // A graph whose variants are not found still gives its own ranges.
    let annotation = varier.vary(&row, annotation.clone(), most.saturating_sub(UNSIZED)).unwrap_or(annotation);
    let Ok(parent) = Parent::new(&row, Some(annotation), casts) else { return Vec::new() };
    let mut variants = parent.variants_in_order();
    variants.truncate(most);
    let cut_all = |(index, variant): (usize, Variant)| {
        let Ok(varied) = parent.vary(variant) else { return Vec::new() };
        let cuts = cuts.iter().filter(|cut| index < cut.variants);
        cuts.filter_map(|cut| Some((cut.key.to_owned(), (cut.place(index), varied.cut(cut.range, plan.kind).ok()?))))
            .collect::<Vec<_>>()
    };
    variants.into_iter().enumerate().flat_map(cut_all).collect()
}

fn in_order(mut rows: Vec<RankedRow>) -> VariedRows {
    rows.sort_by_key(|(place, _)| *place);
    let mut seen = BTreeSet::new();
    let mut varied = VariedRows::default();
    for ((turn, _), row) in rows {
        if !seen.insert(row.path.clone()) {
            continue;
        }
        if turn == 0 {
            varied.captured.insert(row.path.clone());
            varied.unchanged.push(row);
        } else {
            varied.variants.push(row);
        }
    }
    varied
}

impl Parent {
    /// Returns the variants, ordered so that the first few differ both in dtype and in extents. The first [`UNSIZED`] ones keep the
    /// extents, and each of the next ones has another assignment.
    fn variants_in_order(&self) -> Vec<Variant> {
        let mut variants = self.variants();
        let casts = 1 + variants.iter().filter_map(|variant| variant.cast).max().map_or(0, |last| last + 1);
        let rank = |variant: &Variant| {
            let cast = variant.cast.map_or(0, |cast| cast + 1);
            let assignment = variant.assignment.map_or(0, |index| index + 1);
            // The unchanged graph, its casts, then one cast for each assignment in turn, then the others.
            let turn = (cast + casts - assignment % casts) % casts;
            (if assignment == 0 { 0 } else { 1 + turn }, assignment, cast)
        };
        variants.sort_by_key(rank);
        variants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_graphs_begin_with_different_variants() {
        let first = |rank| {
            let cut = Cut { key: "", rank, range: OpRange::new(0, 1), variants: 4 };
            (1..4).min_by_key(|&index| cut.place(index)).unwrap_or_default()
        };
        assert_eq!([0, 1, 2, 3].map(first), [1, 2, 3, 1]);
        let only = Cut { key: "", rank: 7, range: OpRange::new(0, 1), variants: 2 };
        assert_eq!((only.place(0), only.place(1)), ((0, 7), (1, 7)));
    }
}
