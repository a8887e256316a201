//! Curation: from subgraphs to tasks and splits.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Dataset, SkippedData, Table,
    select::select_subset,
    store::{SampleRow, TableError, TaskRow},
};

/// Result of the curation.
#[derive(Debug, Default)]
pub struct Curated {
    /// Number of tasks of the evaluation split.
    pub eval: usize,
    /// Number of tasks of the training split.
    pub train: usize,
    /// Number of graphs in neither split, because a graph of the evaluation split has the same structure under another op
    /// sequence.
    pub withheld: usize,
    /// Files and rows that could not be read.
    pub failures: Vec<SkippedData>,
}

/// Groups the subgraphs by op sequence into tasks and writes the table of tasks: `eval` tasks chosen by rarity and
/// coverage ([`select_subset`]), all others for training.
///
/// No op sequence is in both splits, because a task is an op sequence. No structural hash is in both splits either: training
/// tasks leave out graphs with the structure of an evaluation graph, whose statements may be in another order.
///
/// The id of a task is the first 16 digits of the hash of its op sequence. The result does not depend on the order of the table.
/// Subgraphs without a hash of their op sequence are failures in the result.
///
/// # Errors
/// If a table cannot be listed or written.
pub fn curate(dataset: &Dataset, eval: usize) -> Result<Curated, TableError> {
    let mut curated = Curated::default();
    let mut groups: BTreeMap<String, SequenceGroup> = BTreeMap::new();
    for row in dataset.read::<SampleRow>(Table::Subgraphs)? {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                curated.failures.push(SkippedData::of_store(&error));
                continue;
            }
        };
        let (Some(hash), Some(structure)) = (row.hashes.ops, row.hashes.structure) else {
            let message = "it has no hashes; import it again".to_owned();
            curated.failures.push(SkippedData { what: row.path, message });
            continue;
        };
        let group = groups.entry(hash).or_insert_with(|| SequenceGroup { ops: row.ops, graphs: Vec::new() });
        group.graphs.push((row.path, structure));
    }
    let sequences: Vec<Vec<String>> = groups.values().map(|group| group.ops.clone()).collect();
    let chosen: BTreeSet<usize> = select_subset(&sequences, eval).into_iter().collect();
    let evaluated: BTreeSet<String> = groups
        .values()
        .enumerate()
        .filter(|(index, _)| chosen.contains(index))
        .flat_map(|(_, group)| group.graphs.iter().map(|(_, structure)| structure.clone()))
        .collect();
    let mut writer = dataset.replace(Table::Tasks)?;
    for (index, (hash, mut group)) in groups.into_iter().enumerate() {
        // The evaluation split keeps all of its graphs. The training split leaves out graphs with the same structure.
        let split = if chosen.contains(&index) { "eval" } else { "train" };
        if split == "train" {
            let before = group.graphs.len();
            group.graphs.retain(|(_, structure)| !evaluated.contains(structure));
            curated.withheld += before - group.graphs.len();
            if group.graphs.is_empty() {
                continue;
            }
        }
        *(if split == "eval" { &mut curated.eval } else { &mut curated.train }) += 1;
        group.graphs.sort_unstable();
        writer.push(TaskRow {
            // 64 bits are enough: the probability of a collision among a million sequences is below 1e-7.
            id: hash[..16].to_owned(),
            split: Some(split.to_owned()),
            ops: group.ops,
            graphs: group.graphs.into_iter().map(|(path, _)| path).collect(),
            files: Vec::new(),
        })?;
    }
    writer.finish()?;
    Ok(curated)
}

/// Subgraphs with one op sequence.
struct SequenceGroup {
    ops: Vec<String>,
    /// Path and structural hash of each subgraph.
    graphs: Vec<(String, String)>,
}
