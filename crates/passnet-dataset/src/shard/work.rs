//! Shards of a stage: functions that write them, run the stage on one of them, and check its result.

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_record::stages::{ShardManifest, ShardReport, ShardStage};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{
    Dataset, SkippedData, Table,
    annotate::{AnnotationLimits, AnnotationRows, Annotations, Runner, annotate, is_over_memory},
    fold::{BoundsError, CanonicalSettings, SizeBounds},
    folders::{FolderError, find_samples, read_sample, write_sample},
    import::{TransferError, import_graphs},
    mine::{Method, mine},
    store::{AnnotationRow, Lineage, SampleRow, TableError},
};

/// File of a shard with its stage.
pub(super) const STAGE: &str = "stage.json";
/// Folder of a shard with the tables or samples of the stage.
const INPUT: &str = "in";
/// Folder with the result of [`run_shard`].
pub(super) const OUTPUT: &str = "out";
/// File of a result with counts and failures.
pub(super) const REPORT: &str = "report.json";

/// Error of a stage on shards.
#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    #[error(transparent)]
    Store(#[from] TableError),
    #[error(transparent)]
    Transfer(#[from] TransferError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Bounds(#[from] BoundsError),
    /// A malformed file of a shard.
    #[error("{}: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        source: serde_json::Error,
    },
    /// The shard was written by another version of PassNet.
    #[error("the driver has passnet {driver}, this node has {node}; install the same version on all nodes")]
    Version {
        /// Version that wrote the shard.
        driver: String,
        /// Version of this program.
        node: &'static str,
    },
    /// The result is missing or damaged.
    #[error("{}: the result of this shard is missing or damaged; run the same command again", .0.display())]
    NoResult(PathBuf),
}

/// Writes shards of at most `graphs` graphs into `scratch`, in the order of the table, and returns their folders. `samples` is
/// the folder to import; other stages read `dataset`. Graphs for which the dataset already has results are left out, as in the
/// stage. Equal data gives equal shards, and shards that exist already are kept.
///
/// # Errors
/// If a table or folder cannot be read or written. Rows that cannot be read are left out, and the merge reports them.
pub fn split(
    stage: &ShardStage,
    dataset: &Dataset,
    samples: &Path,
    scratch: &Path,
    graphs: usize,
) -> Result<Vec<PathBuf>, ShardError> {
    let mut writer = ShardWriter { stage, scratch, shards: Vec::new() };
    match stage {
        ShardStage::Import => {
            let found = find_samples(samples)?;
            if found.is_empty() {
                return Err(TransferError::Empty(samples.to_owned()).into());
            }
            let rows = dataset.read::<Lineage>(Table::Graphs)?.flatten();
            let known: FxHashSet<String> = rows.map(|row| row.path).collect();
            let new: Vec<&String> = found.iter().filter(|path| !known.contains(*path)).collect();
            for paths in new.chunks(graphs.max(1)) {
                writer.shard(|input| {
                    for path in paths {
                        // The merge reads missing samples itself, and reports why they cannot be read.
                        if let Ok(files) = read_sample(&samples.join(path)) {
                            write_sample(input.root(), path, &files)?;
                        }
                    }
                    Ok(())
                })?;
            }
        }
        ShardStage::Annotate { .. } => {
            let rows = dataset.read::<AnnotationRow>(Table::Annotations)?.flatten();
            let known: FxHashMap<String, String> = rows.map(|row| (row.path, row.graph)).collect();
            let is_new =
                |row: &SampleRow| known.get(&row.path).is_none_or(|known| known != row.files.content_id().as_str());
            let mut rows = dataset.read::<SampleRow>(Table::Graphs)?.flatten().filter(is_new).peekable();
            while rows.peek().is_some() {
                writer.shard(|input| write_graphs(input, rows.by_ref().take(graphs.max(1)), None))?;
            }
        }
        ShardStage::Fold { .. } | ShardStage::SingleOps => {
            let mut annotations = Annotations::open(dataset)?;
            let mut rows = dataset.read::<SampleRow>(Table::Graphs)?.flatten().peekable();
            while rows.peek().is_some() {
                let rows = rows.by_ref().take(graphs.max(1));
                writer.shard(|input| write_graphs(input, rows, Some(&mut annotations)))?;
            }
        }
    }
    Ok(writer.shards)
}

fn write_graphs(
    input: &Dataset,
    rows: impl Iterator<Item = SampleRow>,
    mut annotations: Option<&mut Annotations<AnnotationRows>>,
) -> Result<(), ShardError> {
    let mut graphs = input.append::<SampleRow>(Table::Graphs)?;
    let mut facts = input.append::<AnnotationRow>(Table::Annotations)?;
    for row in rows {
        if let Some(annotation) = annotations.as_mut().and_then(|annotations| annotations.of(&row)) {
            let graph = row.files.content_id().to_string();
            facts.push(AnnotationRow { path: row.path.clone(), graph, annotation: Ok(annotation) })?;
        }
        graphs.push(row)?;
    }
    graphs.finish()?;
    Ok(facts.finish()?)
}

struct ShardWriter<'a> {
    stage: &'a ShardStage,
    scratch: &'a Path,
    shards: Vec<PathBuf>,
}

impl ShardWriter<'_> {
    /// Writes the next shard. `write` fills its tables or samples.
    fn shard(&mut self, write: impl FnOnce(&Dataset) -> Result<(), ShardError>) -> Result<(), ShardError> {
        fs::create_dir_all(self.scratch)?;
        let folder = tempfile::Builder::new().prefix(".incomplete-").tempdir_in(self.scratch)?;
        let order = ShardManifest { version: env!("CARGO_PKG_VERSION").to_owned(), stage: self.stage.clone() };
        write_json(&folder.path().join(STAGE), &order)?;
        let input = folder.path().join(INPUT);
        fs::create_dir(&input)?;
        write(&Dataset::at(&input))?;
        // The number keeps the order of the table, the hash identifies the content.
        let place = self.scratch.join(format!("{:05}-{}", self.shards.len(), content_hash(folder.path())?));
        if !place.exists() {
            fs::rename(folder.keep(), &place)?;
        }
        self.shards.push(place);
        Ok(())
    }
}

/// Returns 16 hexadecimal digits that depend on the paths and bytes of all files of a folder.
fn content_hash(root: &Path) -> Result<String, io::Error> {
    let mut hash = Sha256::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries: io::Result<Vec<PathBuf>> = fs::read_dir(&path)?.map(|entry| Ok(entry?.path())).collect();
            let mut entries = entries?;
            entries.sort_unstable();
            open.extend(entries);
            continue;
        }
        let bytes = fs::read(&path)?;
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
        // The length before each part makes sure that no two folders have the same stream of bytes.
        for part in [name.as_bytes(), &bytes] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    let mut text = String::new();
    for byte in hash.finalize().iter().take(8) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// Returns the stage of a shard.
///
/// # Errors
/// If the folder is not a shard, or another version wrote it.
pub fn stage_of(shard: &Path) -> Result<ShardStage, ShardError> {
    let order: ShardManifest = read_json(&shard.join(STAGE))?;
    let node = env!("CARGO_PKG_VERSION");
    if order.version == node { Ok(order.stage) } else { Err(ShardError::Version { driver: order.version, node }) }
}

/// Runs the stage of a shard and writes its result to the folder `out` in it.
///
/// # Errors
/// If the shard cannot be read or its result cannot be written. Failures of graphs are part of the result.
pub fn run_shard(shard: &Path, runner: &dyn Runner) -> Result<(), ShardError> {
    let (stage, folder) = (stage_of(shard)?, shard.join(INPUT));
    let (input, output) = (Dataset::at(&folder), Dataset::at(shard.join(OUTPUT)));
    let mut report = ShardReport::default();
    let failures: Vec<SkippedData> = match &stage {
        ShardStage::Import => {
            // If none of the samples could be read, the shard is empty.
            if find_samples(&folder)?.is_empty() { Vec::new() } else { import_graphs(&output, &folder)?.failures }
        }
        &ShardStage::Annotate { max_bytes, seconds, variants, .. } => {
            let limits = AnnotationLimits { max_bytes, seconds, variants };
            let annotated = annotate(&input, runner, &limits, &|_, _| ())?;
            fs::create_dir_all(output.root())?;
            let name = Table::Annotations.name();
            if folder.join(name).exists() {
                fs::rename(folder.join(name), output.root().join(name))?;
            }
            // All other failures are rows of the table.
            annotated.failures.into_iter().filter(|failure| is_over_memory(&failure.message)).collect()
        }
        ShardStage::Fold { .. } | ShardStage::SingleOps => {
            let Some(method) = method_of(&stage)? else { return Ok(()) };
            let mined = mine(&input, method, &output)?;
            report = ShardReport {
                graphs: mined.graphs,
                ops: mined.ops,
                covered: mined.covered,
                ranges: mined.ranges,
                open: mined.open,
                ..report
            };
            mined.failures
        }
    };
    report.failures = failures.into_iter().map(|failure| (failure.what, failure.message)).collect();
    fs::create_dir_all(output.root())?;
    write_json(&output.root().join(REPORT), &report)
}

/// A shard and the folder with its result.
#[derive(Clone, Debug)]
pub struct ShardResult {
    /// Folder of the shard.
    pub shard: PathBuf,
    /// Folder of the result, which [`run_shard`] wrote.
    pub result: PathBuf,
}

impl ShardResult {
    /// Returns whether the result contains everything that the shard asks for, with unchanged bytes.
    ///
    /// # Errors
    /// If the shard cannot be read.
    pub fn is_whole(&self) -> Result<bool, ShardError> {
        // The report is written last, so without a report the run was interrupted.
        let Ok(report) = self.report() else { return Ok(false) };
        let (input, output) = (self.shard.join(INPUT), Dataset::at(&self.result));
        for table in [Table::Graphs, Table::Annotations, Table::Subgraphs] {
            if output.find_altered(table).map_or(true, |files| !files.is_empty()) {
                return Ok(false);
            }
        }
        Ok(match stage_of(&self.shard)? {
            ShardStage::Import => {
                let rows = output.rows::<SampleRow>(Table::Graphs)? as usize;
                rows + report.failures.len() == find_samples(&input)?.len()
            }
            ShardStage::Annotate { .. } => {
                let graphs = Dataset::at(&input).rows::<SampleRow>(Table::Graphs)?;
                output.rows::<AnnotationRow>(Table::Annotations)? + report.failures.len() as u64 == graphs
            }
            ShardStage::Fold { .. } | ShardStage::SingleOps => {
                report.graphs as u64 == Dataset::at(&input).rows::<SampleRow>(Table::Graphs)?
            }
        })
    }

    pub(super) fn report(&self) -> Result<ShardReport, ShardError> {
        read_json(&self.result.join(REPORT))
    }

    pub(super) fn dataset(&self) -> Dataset {
        Dataset::at(&self.result)
    }
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ShardError> {
    let text = fs::read(path)?;
    serde_json::from_slice(&text).map_err(|source| ShardError::Malformed { path: path.to_owned(), source })
}

pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ShardError> {
    let text = serde_json::to_vec(value).map_err(|source| ShardError::Malformed { path: path.to_owned(), source })?;
    Ok(fs::write(path, text)?)
}

/// Returns the method with which a stage finds subgraphs; `None` if the stage finds none.
pub(super) fn method_of(stage: &ShardStage) -> Result<Option<Method>, BoundsError> {
    Ok(match *stage {
        ShardStage::Import | ShardStage::Annotate { .. } => None,
        ShardStage::Fold { min_ops, end_ops, reach } => {
            Some(Method::Canonical(CanonicalSettings { bounds: SizeBounds::new(min_ops, end_ops)?, reach }))
        }
        ShardStage::SingleOps => Some(Method::SingleOps),
    })
}
