//! Conversion of many folders to rows, and of rows to folders.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use passnet_graph::VerifyError;
use passnet_graphnet::{
    Sample,
    sample::{CONSTRAINTS, GRAPH_HASH, GRAPH_NET, INPUT_META, MODEL, SampleTexts, WEIGHT_META},
};
use rayon::prelude::*;

use crate::{
    Dataset, SkippedData, Table,
    folders::{FolderError, find_samples, find_tasks, read_sample, read_task, write_sample, write_task},
    hashes::hashes,
    repair::{Repaired, repair},
    store::{GraphKind, Input, Lineage, SampleFiles, SampleRow, TableError, TaskRow},
};

/// Number of samples that are read and parsed at a time.
const CHUNK: usize = 64;

/// Result of an import or export.
#[derive(Debug, Default)]
pub struct Transfer {
    /// Number of samples that were written.
    pub samples: usize,
    /// Number of tasks that were written.
    pub tasks: usize,
    /// Number of samples that existed already.
    pub present: usize,
    /// Number of tasks that existed already.
    pub present_tasks: usize,
    /// Damaged files of the table. Samples in them that could not be read were imported again.
    pub repaired: Vec<Repaired>,
    /// Samples that could not be read, with the reasons. All other samples were written.
    pub failures: Vec<SkippedData>,
}

/// Error of describing a sample as a row.
#[derive(Debug, thiserror::Error)]
pub enum DescribeError {
    /// A file is missing.
    #[error("{path}: there is no {file}, or it is not UTF-8")]
    Missing {
        /// Path of the sample.
        path: String,
        /// Name of the file.
        file: &'static str,
    },
    /// A file is malformed.
    #[error(transparent)]
    Sample(#[from] passnet_graphnet::Error),
    /// The masked form of the graph breaks a law of graphs.
    #[error("{path}: {source}")]
    Graph {
        /// Path of the sample.
        path: String,
        /// The law that is broken.
        source: VerifyError,
    },
}

/// Returns the row of a sample: its files, and the columns that are derived from them.
///
/// # Errors
/// If a required file is missing or malformed.
pub fn describe(path: &str, kind: GraphKind, files: SampleFiles) -> Result<SampleRow, DescribeError> {
    let sample = parse(path, &files)?;
    let hashes = hashes(&sample, files.text(MODEL).unwrap_or_default())
        .map_err(|source| DescribeError::Graph { path: path.to_owned(), source })?;
    let inputs = sample.tensors.into_iter();
    Ok(SampleRow {
        path: path.to_owned(),
        kind,
        source: sample.meta.source,
        domain: sample.meta.heuristic_tag,
        ops: sample.graph.op_names(),
        inputs: inputs.map(|tensor| Input { name: tensor.name, dtype: tensor.dtype, shape: tensor.shape }).collect(),
        hashes,
        files,
        ..SampleRow::default()
    })
}

/// Parses the sample in the files of a row.
pub(crate) fn parse(path: &str, files: &SampleFiles) -> Result<Sample, DescribeError> {
    let needed = |file| files.text(file).ok_or_else(|| DescribeError::Missing { path: path.to_owned(), file });
    Ok(Sample::parse(&SampleTexts {
        path,
        model: needed(MODEL)?,
        weight_meta: needed(WEIGHT_META)?,
        input_meta: files.text(INPUT_META),
        graph_net: files.text(GRAPH_NET),
        constraints: files.text(CONSTRAINTS),
        graph_hash: files.text(GRAPH_HASH),
    })?)
}

/// Imports all sample folders below `folder` as full graphs. Samples that the dataset already has are left unchanged, so the same
/// call continues an interrupted one. Samples in damaged files are imported again.
///
/// # Errors
/// If `folder` cannot be listed or has no sample, or the dataset cannot be written; a sample that is malformed is a
/// failure in the result.
pub fn import_graphs(dataset: &Dataset, folder: &Path) -> Result<Transfer, TransferError> {
    import_samples(dataset, Table::Graphs, GraphKind::Full, folder)
}

/// Imports all task folders in `folder`, and the samples in them as subgraphs of kind `kind`. Continues an interrupted call as
/// [`import_graphs`] does.
///
/// # Errors
/// As [`import_graphs`].
pub fn import_tasks(dataset: &Dataset, kind: GraphKind, folder: &Path) -> Result<Transfer, TransferError> {
    let mut transfer = import_samples(dataset, Table::Subgraphs, kind, folder)?;
    // Damage is repaired before the known rows are read, so that lost rows are imported again.
    transfer.repaired.extend(repair::<TaskRow>(dataset, Table::Tasks)?);
    let mut known = BTreeSet::new();
    for task in dataset.read::<TaskRow>(Table::Tasks)? {
        transfer.note(task, |task| known.extend([task.id]));
    }
    let mut writer = dataset.append(Table::Tasks)?;
    for id in find_tasks(folder)? {
        if known.contains(&id) {
            transfer.present_tasks += 1;
            continue;
        }
        match read_task(folder, &id) {
            Ok(task) => {
                writer.push(task)?;
                transfer.tasks += 1;
            }
            Err(error) => transfer.failures.push(SkippedData { what: id, message: error.to_string() }),
        }
    }
    writer.finish()?;
    Ok(transfer)
}

fn import_samples(dataset: &Dataset, table: Table, kind: GraphKind, folder: &Path) -> Result<Transfer, TransferError> {
    import_with(dataset, table, folder, &|path| read_row(folder, path, kind))
}

/// Returns the row of the sample at `path` below a folder, or the reason why there is none.
pub(crate) fn read_row(folder: &Path, path: &str, kind: GraphKind) -> Result<SampleRow, String> {
    let files = read_sample(&folder.join(path)).map_err(|error| error.to_string())?;
    describe(path, kind, files).map_err(|error| error.to_string())
}

/// Imports the samples below a folder, with any source of their rows.
pub(crate) fn import_with(
    dataset: &Dataset,
    table: Table,
    folder: &Path,
    read: &(dyn Fn(&str) -> Result<SampleRow, String> + Sync),
) -> Result<Transfer, TransferError> {
    let found = find_samples(folder)?;
    if found.is_empty() {
        return Err(TransferError::Empty(folder.to_owned()));
    }
    let mut transfer = Transfer { repaired: repair::<SampleRow>(dataset, table)?, ..Transfer::default() };
    let mut known = BTreeSet::new();
    for row in dataset.read::<Lineage>(table)? {
        transfer.note(row, |row| known.extend([row.path]));
    }
    let new: Vec<&String> = found.iter().filter(|path| !known.contains(*path)).collect();
    transfer.present = found.len() - new.len();
    let mut writer = dataset.append(table)?;
    // Samples are read in chunks, so that rows are written in the order of their paths, independent of the threads, and few of
    // them are in memory.
    for paths in new.chunks(CHUNK) {
        let rows: Vec<_> = paths.par_iter().map(|path| read(path)).collect();
        for (path, row) in paths.iter().zip(rows) {
            match row {
                Ok(row) => {
                    writer.push(row)?;
                    transfer.samples += 1;
                }
                Err(message) => transfer.failures.push(SkippedData { what: (*path).clone(), message }),
            }
        }
    }
    writer.finish()?;
    Ok(transfer)
}

/// Writes a table of samples as sample folders below `folder`. For [`Table::Tasks`], writes the task folders and the subgraphs in
/// them.
///
/// # Errors
/// If the dataset cannot be listed or a folder cannot be written. Damaged rows are failures in the result.
pub fn export(dataset: &Dataset, table: Table, folder: &Path) -> Result<Transfer, TransferError> {
    let mut transfer = Transfer::default();
    let samples = if table == Table::Tasks { Table::Subgraphs } else { table };
    for row in dataset.read::<SampleRow>(samples)? {
        match row {
            Ok(row) => {
                write_sample(folder, &row.path, &row.files)?;
                transfer.samples += 1;
            }
            Err(error) => transfer.failures.push(SkippedData::of_store(&error)),
        }
    }
    if table == Table::Tasks {
        for task in dataset.read::<TaskRow>(Table::Tasks)? {
            match task {
                Ok(task) => {
                    write_task(folder, &task)?;
                    transfer.tasks += 1;
                }
                Err(error) => transfer.failures.push(SkippedData::of_store(&error)),
            }
        }
    }
    Ok(transfer)
}

impl Transfer {
    /// Passes a row to `use_row`, or records why it cannot be read.
    fn note<R>(&mut self, row: Result<R, TableError>, use_row: impl FnOnce(R)) {
        match row {
            Ok(row) => use_row(row),
            Err(error) => self.failures.push(SkippedData::of_store(&error)),
        }
    }
}

/// Error that stops an import or export.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Store(#[from] TableError),
    /// The folder contains nothing to import.
    #[error("{0}: no samples found at any depth; `passnet extract MODEL --out DIR` writes samples")]
    Empty(PathBuf),
}
