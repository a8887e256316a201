//! Opens suites of every form. A suite that is published as Parquet is unpacked to folders, which the referee reads.

use std::{
    io,
    path::{Path, PathBuf},
};

use passnet_record::{ContentId, SCHEMA_VERSION, Split, SuiteTask, UnknownChoice};
use passnet_run::{Selection, Suite, SuiteError, cache_directory};

use crate::{
    Dataset, Table,
    definition::{Definition, DefinitionError},
    import::{TransferError, export},
    store::{TableError, TaskRow},
};

/// An error of [`open_suite`].
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The suite cannot be loaded.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A table cannot be read.
    #[error(transparent)]
    Store(#[from] TableError),
    /// The definition of a suite is damaged.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The samples of a definition are not in the cache.
    #[error("{path}: the models of this suite are not captured; run `passnet extract --suite {path}` first")]
    NotCaptured {
        /// The definition.
        path: PathBuf,
    },
    /// There is no cache folder to unpack to.
    #[error("{path}: no cache folder for the unpacked suite; set PASSNET_CACHE, XDG_CACHE_HOME or HOME")]
    NoCache { path: PathBuf },
    /// A sample or task is damaged. An incomplete suite is not evaluated.
    #[error("{path}: the suite is damaged: {message}")]
    Damaged {
        path: PathBuf,
        /// Description of the first problem.
        message: String,
    },
    /// The folders cannot be written.
    #[error("{path} cannot be unpacked to {folder}: {source}")]
    Unpack {
        path: PathBuf,
        /// The folder in the cache.
        folder: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The rows cannot be written as folders.
    #[error(transparent)]
    Transfer(#[from] TransferError),
}

/// Opens a suite in any form: a folder with `suite.json`, a folder of tasks, one task, one sample, a `.tar.zst` archive of any of
/// these, a dataset with a table of tasks, or a definition whose samples were captured.
///
/// The folders of a dataset are written once, in [`cache_directory`], and named by the content of its tables.
///
/// # Errors
/// If there is no suite at the path, or a file of it is damaged.
pub fn open_suite(path: &Path, selection: &Selection) -> Result<Suite, OpenError> {
    if let Some(definition) = Definition::read(path, cache_directory().as_deref())? {
        if !definition.is_captured() {
            return Err(OpenError::NotCaptured { path: path.to_owned() });
        }
        return Ok(Suite::load(definition.folder(), selection)?);
    }
    match suite_folder(path, cache_directory().as_deref())? {
        Some(folder) => Ok(Suite::load(&folder, selection)?),
        None => Ok(Suite::load(path, selection)?),
    }
}

/// Returns the folder of an unpacked dataset; `None` if the path is not a dataset with tasks.
fn suite_folder(path: &Path, cache: Option<&Path>) -> Result<Option<PathBuf>, OpenError> {
    let dataset = Dataset::at(path);
    if !path.is_dir() || path.join("suite.json").exists() || dataset.parts(Table::Tasks)?.is_empty() {
        return Ok(None);
    }
    let failed = |folder: &Path, source| OpenError::Unpack { path: path.to_owned(), folder: folder.to_owned(), source };
    let version = content(&dataset)?;
    let full = path.canonicalize().map_err(|source| failed(path, source))?;
    let name = full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let cache = cache.ok_or_else(|| OpenError::NoCache { path: path.to_owned() })?;
    // The last part is the name of the suite.
    let parent = cache.join("suites").join(version.short());
    let folder = parent.join(&name);
    if !folder.join("suite.json").is_file() {
        // Each process has its own folder, because two commands may unpack the same suite at the same time.
        let staging = parent.join(format!(".{name}.{}", std::process::id()));
        unpack(&dataset, &name, version.short(), &staging)?;
        put_in_place(&staging, &folder).map_err(|source| failed(&folder, source))?;
    }
    Ok(Some(folder))
}

/// Returns the id of the bytes of all tables that make a suite.
fn content(dataset: &Dataset) -> Result<ContentId, OpenError> {
    let mut parts = Vec::new();
    for table in [Table::Tasks, Table::Subgraphs] {
        for path in dataset.parts(table)? {
            parts.push(fs_err::read(&path).map_err(|source| TableError::Io { path, source })?);
        }
    }
    Ok(ContentId::of_parts(parts.iter().map(Vec::as_slice)))
}

/// Writes the folders of a suite and its `suite.json`. Leaves no files behind if a row is damaged.
fn unpack(dataset: &Dataset, name: &str, version: &str, staging: &Path) -> Result<(), OpenError> {
    let path = || dataset.root().to_owned();
    let failed = |source| OpenError::Unpack { path: path(), folder: staging.to_owned(), source };
    fs_err::create_dir_all(staging).map_err(failed)?;
    let transfer = export(dataset, Table::Tasks, staging)?;
    if let Some(failure) = transfer.failures.into_iter().next() {
        fs_err::remove_dir_all(staging).map_err(failed)?;
        return Err(OpenError::Damaged { path: path(), message: failure.message });
    }
    let record =
        serde_json::to_vec_pretty(&record(dataset, name, version)?).map_err(io::Error::from).map_err(failed)?;
    fs_err::write(staging.join("suite.json"), record).map_err(failed)
}

/// Renames a complete folder to its place, so that every folder in the cache is complete.
fn put_in_place(staging: &Path, folder: &Path) -> io::Result<()> {
    match fs_err::rename(staging, folder) {
        // Another process has created the folder in the meantime, with the same content.
        Err(_) if folder.join("suite.json").is_file() => fs_err::remove_dir_all(staging),
        renamed => renamed,
    }
}

fn record(dataset: &Dataset, name: &str, version: &str) -> Result<passnet_record::SuiteManifest, TableError> {
    let tasks: Vec<TaskRow> = dataset.read::<TaskRow>(Table::Tasks)?.collect::<Result<_, TableError>>()?;
    let split = tasks.first().and_then(|task| task.split.as_deref()).map_or(Ok(Split::Eval), str::parse);
    let split = split.map_err(|error: UnknownChoice| TableError::Schema {
        path: dataset.root().to_owned(),
        message: error.to_string(),
    })?;
    // The manifest names graphs relative to the folder of their task.
    let inside = |task: &TaskRow, path: &str| path.strip_prefix(&format!("{}/", task.id)).unwrap_or(path).to_owned();
    let tasks = tasks.into_iter().map(|task| SuiteTask {
        graphs: task.graphs.iter().map(|path| inside(&task, path)).collect(),
        id: task.id,
        ops: task.ops,
        held_out: Vec::new(),
    });
    Ok(passnet_record::SuiteManifest {
        schema_version: SCHEMA_VERSION,
        name: name.to_owned(),
        version: version.to_owned(),
        split,
        description: "Parts of models captured with random weights; see docs/reference/dataset-card.md".to_owned(),
        weights: None,
        tasks: tasks.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{import::import_tasks, store::GraphKind};

    const MODEL: &str = "\
import torch
class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = torch.nn.functional.relu(in_0, inplace=False)
        return (tmp_0,)
";
    const WEIGHT_META: &str = "\
class Program_weight_tensor_meta_in_0:
    name = 'in_0'
    shape = [4]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 1.0
";

    fn dataset(root: &Path) -> Dataset {
        let task = root.join("tasks/relu");
        fs_err::create_dir_all(task.join("000")).unwrap();
        fs_err::write(task.join("graph_list.txt"), "000\n").unwrap();
        fs_err::write(task.join("000/model.py"), MODEL).unwrap();
        fs_err::write(task.join("000/weight_meta.py"), WEIGHT_META).unwrap();
        let dataset = Dataset::at(root.join("small"));
        let transfer = import_tasks(&dataset, GraphKind::Fusible, &root.join("tasks")).unwrap();
        assert_eq!((transfer.samples, transfer.tasks), (1, 1), "{:?}", transfer.failures);
        dataset
    }

    #[test]
    fn a_dataset_with_tasks_is_unpacked_once_into_the_cache() {
        let root = tempfile::tempdir().unwrap();
        let (dataset, cache) = (dataset(root.path()), root.path().join("cache"));
        let folder = suite_folder(dataset.root(), Some(&cache)).unwrap().unwrap();
        assert!(folder.starts_with(cache.join("suites")) && folder.ends_with("small"), "{}", folder.display());
        let suite = Suite::load(&folder, &Selection::default()).unwrap();
        assert_eq!((suite.record.name.as_str(), suite.graphs().count()), ("small", 1));
        let made = fs_err::metadata(folder.join("suite.json")).unwrap().modified().unwrap();
        assert_eq!(suite_folder(dataset.root(), Some(&cache)).unwrap().unwrap(), folder);
        assert_eq!(fs_err::metadata(folder.join("suite.json")).unwrap().modified().unwrap(), made);
        assert!(matches!(suite_folder(dataset.root(), None), Err(OpenError::NoCache { .. })));
    }

    #[test]
    fn other_forms_are_not_unpacked() {
        let root = tempfile::tempdir().unwrap();
        dataset(root.path());
        for path in ["tasks", "tasks/relu", "nothing"] {
            assert!(suite_folder(&root.path().join(path), None).unwrap().is_none(), "{path}");
        }
        assert_eq!(open_suite(&root.path().join("tasks"), &Selection::default()).unwrap().graphs().count(), 1);
    }
}
