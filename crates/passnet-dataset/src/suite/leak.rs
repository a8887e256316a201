use std::collections::BTreeSet;

use crate::{
    Dataset, Table,
    store::{SampleRow, TableError},
};

/// Overlap of evaluation and training.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leak {
    /// Structural hashes of graphs that are in both.
    pub structures: BTreeSet<String>,
    /// Op sequences that are in both, with ops joined by spaces.
    pub sequences: BTreeSet<String>,
}

/// Compares the graphs of evaluation suites with those of a training split.
///
/// # Errors
/// If a table cannot be read completely: without all rows, the absence of an overlap is not proven.
pub fn leaks(eval: &[Dataset], train: &Dataset) -> Result<Leak, TableError> {
    let mut found = Leak::default();
    let mut evaluated = Leak::default();
    for suite in eval {
        for row in suite.read::<SampleRow>(Table::Subgraphs)? {
            let row = row?;
            // The evaluation side is in memory and training is streamed, because training is larger.
            evaluated.structures.extend(row.hashes.structure);
            evaluated.sequences.insert(row.ops.join(" "));
        }
    }
    for row in train.read::<SampleRow>(Table::Subgraphs)? {
        let row = row?;
        found.structures.extend(row.hashes.structure.filter(|hash| evaluated.structures.contains(hash)));
        let sequence = row.ops.join(" ");
        found.sequences.extend(evaluated.sequences.contains(&sequence).then_some(sequence));
    }
    Ok(found)
}
