//! Subgraphs that may become part of a suite, by op sequence.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    class::{self, MANY_STRUCTURES, TaskClass},
    plan::{Built, SuiteLimits},
};
use crate::{
    Dataset, SkippedData, Table,
    phase::Phase,
    select::select_subset,
    store::{GraphKind, Input, SampleRow, SubgraphOrigin, TableError},
};

/// One distinct subgraph.
pub(super) struct CandidateSubgraph {
    pub(super) path: String,
    pub(super) structure: String,
    /// Origin from which evaluation cuts the subgraph: the first one that is not for training only.
    pub(super) origin: Option<SubgraphOrigin>,
    bucket: Bucket,
    elements: u64,
    is_language: bool,
}

/// Dtypes and rough extents of the inputs.
type Bucket = Vec<(u8, Vec<u32>)>;

/// The subgraphs of one op sequence.
pub(super) struct CandidateGroup {
    pub(super) ops: Vec<String>,
    /// Number of places that have the sequence and are not for training only, repetitions included.
    origins: usize,
    pub(super) candidates: Vec<CandidateSubgraph>,
}

/// Groups by phase, kind and hash of their op sequence.
pub(super) type Groups = BTreeMap<(Phase, GraphKind, String), CandidateGroup>;

impl CandidateGroup {
    /// Returns the class of the task that the group would become.
    pub(super) fn class(&self) -> TaskClass {
        let graphs = self.candidates.iter().map(|candidate| (candidate.elements, candidate.is_language));
        let evaluated = self.candidates.iter().filter(|candidate| candidate.origin.is_some());
        let structures: BTreeSet<&str> = evaluated.map(|candidate| candidate.structure.as_str()).collect();
        let is_varied = structures.len() >= MANY_STRUCTURES;
        TaskClass { is_varied, ..TaskClass::of_graphs(&self.ops, graphs) }
    }

    /// Returns at most `count` candidates for evaluation with their origins, from as many structures as possible, then from as many
    /// buckets of inputs as possible.
    pub(super) fn spread(&self, count: usize) -> Vec<&SubgraphOrigin> {
        let mut structures: BTreeMap<&str, BTreeMap<&Bucket, Vec<&SubgraphOrigin>>> = BTreeMap::new();
        for candidate in &self.candidates {
            let buckets = structures.entry(&candidate.structure).or_default();
            buckets.entry(&candidate.bucket).or_default().extend(&candidate.origin);
        }
        // Round robin: each bucket gives one candidate before any bucket gives a second, and so do the structures.
        let structures = structures.into_values().map(|buckets| in_turns(buckets.into_values().collect()));
        in_turns(structures.collect()).into_iter().take(count).collect()
    }
}

/// Returns the first item of each list, then the second of each, and so on.
fn in_turns<T: Copy>(lists: Vec<Vec<T>>) -> Vec<T> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|turn| lists.iter().filter_map(move |list| list.get(turn).copied())).collect()
}

/// Returns all annotated subgraphs whose inputs fit the bound, by kind and hash of their op sequence.
pub(super) fn groups(dataset: &Dataset, bounds: &SuiteLimits, built: &mut Built) -> Result<Groups, TableError> {
    let mut groups = Groups::new();
    for row in dataset.read::<SampleRow>(Table::Subgraphs)? {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                built.failures.push(SkippedData::of_store(&error));
                continue;
            }
        };
        let bytes = row.inputs.iter().try_fold(0_u64, |sum, input| sum.checked_add(input.nbytes()?));
        let (Some(ops), Some(structure)) = (row.hashes.ops, row.hashes.structure) else { continue };
        // Without a typed hash the graph was not annotated. Without inputs there is nothing to compare.
        if row.hashes.typed.is_none() || row.inputs.is_empty() || bytes.is_none_or(|bytes| bytes > bounds.max_bytes) {
            continue;
        }
        let bucket: Bucket = row.inputs.iter().map(class).collect();
        let (elements, is_language) = (class::elements(&row.inputs), class::is_language(row.domain.as_deref()));
        let mut phases: BTreeMap<Phase, Vec<SubgraphOrigin>> = BTreeMap::new();
        for origin in row.origins {
            let phase = phases.entry(Phase::of(&origin.path)).or_default();
            // The phase gets its entry in any case: a subgraph without an origin for evaluation may still be used for training.
            phase.extend(Some(origin).filter(|origin| !bounds.only_trains(&origin.path)));
        }
        for (phase, origins) in phases {
            let group = groups.entry((phase, row.kind, ops.clone())).or_insert_with(|| CandidateGroup {
                ops: row.ops.clone(),
                origins: 0,
                candidates: Vec::new(),
            });
            group.origins += origins.len();
            group.candidates.push(CandidateSubgraph {
                path: row.path.clone(),
                structure: structure.clone(),
                origin: origins.into_iter().next(),
                bucket: bucket.clone(),
                elements,
                is_language,
            });
        }
    }
    Ok(groups)
}

/// Returns the dtype of an input, and the size of each extent by factors of 16.
fn class(input: &Input) -> (u8, Vec<u32>) {
    (input.dtype as u8, input.shape.iter().map(|extent| extent.checked_ilog2().unwrap_or(0) / 4).collect())
}

/// Returns the op sequences of a phase and kind that evaluation may have, in the order in which a suite takes them. Sequences
/// that another suite has taken are left out.
pub(super) fn preferred(groups: &Groups, phase: Phase, kind: GraphKind, taken: &BTreeSet<String>) -> Vec<String> {
    let is_free = |group: &CandidateGroup, key: &String| group.origins > 0 && !taken.contains(key);
    let of_kind = groups.iter().filter(|((in_phase, of, _), _)| (*in_phase, *of) == (phase, kind));
    let mut found: Vec<(&String, &CandidateGroup)> =
        of_kind.filter(|((.., key), group)| is_free(group, key)).map(|((.., key), group)| (key, group)).collect();
    // A sequence of one op has no transitions to cover, so frequency decides.
    if kind == GraphKind::SingleOp {
        found.sort_by_key(|(key, group)| (std::cmp::Reverse(group.origins), *key));
        return found.into_iter().map(|(key, _)| key.clone()).collect();
    }
    let sequences: Vec<&Vec<String>> = found.iter().map(|(_, group)| &group.ops).collect();
    let sequences: Vec<Vec<&str>> = sequences.iter().map(|ops| ops.iter().map(String::as_str).collect()).collect();
    // One less than all, because `select_subset` returns the whole set in its own order.
    let mut order = select_subset(&sequences, found.len().saturating_sub(1));
    let chosen: BTreeSet<usize> = order.iter().copied().collect();
    order.extend((0..found.len()).filter(|index| !chosen.contains(index)));
    order.into_iter().map(|index| found[index].0.clone()).collect()
}
