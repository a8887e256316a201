//! Merges the results of shards into the tables of a dataset.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Mutex, PoisonError},
};

use passnet_record::stages::ShardStage;

use super::work::{ShardError, ShardResult};
use crate::{
    Dataset, SkippedData, Table,
    annotate::{Annotated, annotate_with},
    import::{Transfer, import_with, read_row},
    mine::{Mined, merge_parts},
    store::{AnnotationRow, GraphKind, SampleRow, TableError, View},
};

/// Rows of shards, requested about in their order. Rows that come before the requested row wait in memory.
struct ShardRows<R> {
    rows: Box<dyn Iterator<Item = Result<R, TableError>> + Send>,
    path: fn(&R) -> &String,
    waiting: BTreeMap<String, R>,
}

impl<R: View + 'static> ShardRows<R> {
    fn open(shards: &[ShardResult], table: Table, path: fn(&R) -> &String) -> Result<Self, ShardError> {
        let mut parts = Vec::new();
        for shard in shards {
            // Checked before anything is written, because a merge of only some shards would look like a complete stage.
            if !shard.is_whole()? {
                return Err(ShardError::NoResult(shard.result.clone()));
            }
            parts.push(shard.dataset().read::<R>(table)?);
        }
        Ok(Self { rows: Box::new(parts.into_iter().flatten()), path, waiting: BTreeMap::new() })
    }

    /// Returns the row of a path; `None` if there is none.
    fn take(&mut self, path: &str) -> Option<R> {
        if let Some(row) = self.waiting.remove(path) {
            return Some(row);
        }
        for row in self.rows.by_ref().flatten() {
            let found = (self.path)(&row);
            if found == path {
                return Some(row);
            }
            let found = found.clone();
            self.waiting.insert(found, row);
        }
        None
    }
}

/// Returns the reasons why samples are in no table, by path.
fn failures(shards: &[ShardResult]) -> Result<BTreeMap<String, String>, ShardError> {
    let mut failures = BTreeMap::new();
    for shard in shards {
        failures.extend(shard.report()?.failures);
    }
    Ok(failures)
}

/// Adds imported samples to a dataset, as [`crate::import::import_graphs`] does.
///
/// # Errors
/// If a result is missing or damaged, or as `import_graphs`.
pub fn merge_import(dataset: &Dataset, samples: &Path, shards: &[ShardResult]) -> Result<Transfer, ShardError> {
    let rows = Mutex::new(ShardRows::<SampleRow>::open(shards, Table::Graphs, |row| &row.path)?);
    let failures = failures(shards)?;
    let read = |path: &str| match failures.get(path) {
        Some(message) => Err(message.clone()),
        None => {
            let row = rows.lock().unwrap_or_else(PoisonError::into_inner).take(path);
            // If no shard has a sample, it could not be read when the shards were written. Reading it again here gives the
            // reason.
            row.map_or_else(|| read_row(samples, path, GraphKind::Full), Ok)
        }
    };
    Ok(import_with(dataset, Table::Graphs, samples, &read)?)
}

/// Adds annotations to a dataset, as [`crate::annotate::annotate`] does.
///
/// # Errors
/// If a result is missing or damaged, or a table cannot be read or written.
pub fn merge_annotations(dataset: &Dataset, shards: &[ShardResult]) -> Result<Annotated, ShardError> {
    let rows = Mutex::new(ShardRows::<AnnotationRow>::open(shards, Table::Annotations, |row| &row.path)?);
    let failures = failures(shards)?;
    let annotate = |graph: &SampleRow| {
        if let Some(message) = failures.get(&graph.path) {
            return Err(message.clone());
        }
        let row = rows.lock().unwrap_or_else(PoisonError::into_inner).take(&graph.path);
        match row {
            Some(row) if row.graph == graph.files.content_id().as_str() => row.annotation,
            // The graph was changed while the shards were processed.
            _ => Err("no shard has this graph".to_owned()),
        }
    };
    Ok(annotate_with(dataset, rayon::current_num_threads(), &annotate, &|_, _| ())?)
}

/// Writes the subgraphs of all shards into `out`, as [`crate::mine::mine`] does.
///
/// # Errors
/// If a result is missing or damaged, or a table cannot be read or written.
pub fn merge_mined(stage: &ShardStage, shards: &[ShardResult], out: &Dataset) -> Result<Mined, ShardError> {
    let rows = ShardRows::<SampleRow>::open(shards, Table::Subgraphs, |row| &row.path)?.rows;
    let mut mined = Mined::default();
    for shard in shards {
        let report = shard.report()?;
        mined.graphs += report.graphs;
        mined.ops += report.ops;
        mined.covered += report.covered;
        mined.ranges += report.ranges;
        mined.open += report.open;
        mined.failures.extend(report.failures.into_iter().map(|(what, message)| SkippedData { what, message }));
    }
    let kind = if *stage == ShardStage::SingleOps { GraphKind::SingleOp } else { GraphKind::Classical };
    Ok(merge_parts(rows, kind, out, mined)?)
}
