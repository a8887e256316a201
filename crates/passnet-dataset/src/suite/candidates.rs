//! Subgraphs that may go into a suite, by op sequence.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::{Bounds, Built};
use crate::{
    Dataset, Failure, Table,
    select::select_subset,
    store::{Input, Kind, Origin, SampleRow, StoreError},
};

/// One distinct subgraph.
pub(super) struct Candidate {
    pub(super) path: String,
    pub(super) structure: String,
    /// Origin to cut it from: the first one that evaluation may have.
    pub(super) origin: Option<Origin>,
    bucket: Bucket,
}

/// Dtypes and rough extents of inputs.
type Bucket = Vec<(u8, Vec<u32>)>;

/// The subgraphs of one op sequence.
pub(super) struct Group {
    ops: Vec<String>,
    /// Places that have it and that evaluation may have, repetitions included.
    origins: usize,
    pub(super) candidates: Vec<Candidate>,
}

/// Groups by kind and hash of their op sequence.
pub(super) type Groups = BTreeMap<(Kind, String), Group>;

impl Group {
    /// At most `count` candidates for evaluation with their origins, from as many structures and buckets of inputs as there
    /// are.
    pub(super) fn spread(&self, count: usize) -> Vec<&Origin> {
        let mut classes: BTreeMap<(&str, &Bucket), Vec<&Origin>> = BTreeMap::new();
        for candidate in &self.candidates {
            let class = classes.entry((&candidate.structure, &candidate.bucket)).or_default();
            class.extend(&candidate.origin);
        }
        let longest = classes.values().map(Vec::len).max().unwrap_or(0);
        let rounds = (0..longest).flat_map(|round| classes.values().filter_map(move |class| class.get(round).copied()));
        rounds.take(count).collect()
    }
}

/// All annotated subgraphs whose inputs fit the bound, by kind and hash of their op sequence.
pub(super) fn groups(dataset: &Dataset, bounds: &Bounds, built: &mut Built) -> Result<Groups, StoreError> {
    let mut groups = Groups::new();
    for row in dataset.read::<SampleRow>(Table::Subgraphs)? {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                built.failures.push(Failure::of_store(&error));
                continue;
            }
        };
        let bytes = row.inputs.iter().try_fold(0_u64, |sum, input| sum.checked_add(input.nbytes()?));
        let (Some(ops), Some(structure)) = (row.hashes.ops, row.hashes.structure) else { continue };
        if row.hashes.typed.is_none() || row.inputs.is_empty() || bytes.is_none_or(|bytes| bytes > bounds.max_bytes) {
            continue;
        }
        let group =
            groups.entry((row.kind, ops)).or_insert_with(|| Group { ops: row.ops, origins: 0, candidates: Vec::new() });
        let mut origins = row.origins.into_iter().filter(|origin| !bounds.only_trains(&origin.path));
        let bucket = row.inputs.iter().map(class).collect();
        let origin = origins.next();
        group.origins += usize::from(origin.is_some()) + origins.count();
        group.candidates.push(Candidate { path: row.path, structure, origin, bucket });
    }
    Ok(groups)
}

/// Dtype, and the size of each extent by factors of 16.
fn class(input: &Input) -> (u8, Vec<u32>) {
    (input.dtype as u8, input.shape.iter().map(|extent| extent.checked_ilog2().unwrap_or(0) / 4).collect())
}

/// Op sequences of a kind that evaluation may have, in the order in which a suite takes them, without those that another one
/// has.
pub(super) fn preferred(groups: &Groups, kind: Kind, taken: &BTreeSet<String>) -> Vec<String> {
    let of_kind = groups.iter().filter(|((of, key), group)| *of == kind && group.origins > 0 && !taken.contains(key));
    let mut found: Vec<(&String, &Group)> = of_kind.map(|((_, key), group)| (key, group)).collect();
    if kind == Kind::SingleOp {
        found.sort_by_key(|(key, group)| (std::cmp::Reverse(group.origins), *key));
        return found.into_iter().map(|(key, _)| key.clone()).collect();
    }
    let sequences: Vec<&Vec<String>> = found.iter().map(|(_, group)| &group.ops).collect();
    let sequences: Vec<Vec<&str>> = sequences.iter().map(|ops| ops.iter().map(String::as_str).collect()).collect();
    // One less than all, since the whole set is returned in its own order.
    let mut order = select_subset(&sequences, found.len().saturating_sub(1));
    let chosen: BTreeSet<usize> = order.iter().copied().collect();
    order.extend((0..found.len()).filter(|index| !chosen.contains(index)));
    order.into_iter().map(|index| found[index].0.clone()).collect()
}
