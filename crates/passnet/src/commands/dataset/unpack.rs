//! Suites that are published as Parquet, as the folders that the referee reads.

use std::{
    env, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use passnet_dataset::{
    Dataset, Table,
    import::export,
    store::{StoreError, TaskRow},
};
use passnet_record::{ContentId, SCHEMA_VERSION, Suite, SuiteTask};

use crate::failure::usage;

/// Where the suite at `path` can be loaded from: `path` itself, or, for a dataset with tasks, a folder in the user's cache
/// with its tasks and graphs. The folder is named by the content of the tables, and made once.
///
/// # Errors
/// If a table is damaged: a suite that is not whole is not evaluated.
pub(crate) fn suite_folder(path: &Path) -> Result<PathBuf> {
    let dataset = Dataset::at(path);
    if !path.is_dir() || path.join("suite.json").exists() || dataset.parts(Table::Tasks)?.is_empty() {
        return Ok(path.to_owned());
    }
    let version = content(&dataset)?;
    let full = path.canonicalize().with_context(|| path.display().to_string())?;
    let name = full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // The last part is the name of the suite.
    let folder = cache()?.join(version.short()).join(&name);
    if !folder.join("suite.json").is_file() {
        unpack(&dataset, &name, version.short(), &folder)
            .with_context(|| format!("{} cannot be unpacked to {}", path.display(), folder.display()))?;
    }
    Ok(folder)
}

/// `passnet/suites` in the user's cache.
fn cache() -> Result<PathBuf> {
    let named = |variable| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    let cache = cache.ok_or_else(|| usage("no folder for the unpacked suite; set XDG_CACHE_HOME or HOME"))?;
    Ok(cache.join("passnet").join("suites"))
}

/// The id of the bytes of all tables that make a suite.
fn content(dataset: &Dataset) -> Result<ContentId> {
    let mut parts = Vec::new();
    for table in [Table::Tasks, Table::Subgraphs] {
        for part in dataset.parts(table)? {
            parts.push(fs_err::read(part)?);
        }
    }
    Ok(ContentId::of_parts(parts.iter().map(Vec::as_slice)))
}

/// Writes the suite beside its place and renames it, so that a folder that exists is whole.
fn unpack(dataset: &Dataset, name: &str, version: &str, folder: &Path) -> Result<()> {
    let parent = folder.parent().context("the folder is in the cache")?;
    fs_err::create_dir_all(parent)?;
    let staging = parent.join(format!(".{name}.{}", std::process::id()));
    let transfer = export(dataset, Table::Tasks, &staging)?;
    if let Some(failure) = transfer.failures.first() {
        fs_err::remove_dir_all(&staging)?;
        anyhow::bail!("{}", failure.message);
    }
    let record = record(dataset, name, version)?;
    fs_err::write(staging.join("suite.json"), serde_json::to_vec_pretty(&record)?)?;
    match fs_err::rename(&staging, folder) {
        // Another process was faster; both have the same content.
        Err(error) if folder.join("suite.json").is_file() => {
            fs_err::remove_dir_all(&staging)?;
            tracing::debug!("{error}");
            Ok(())
        }
        renamed => renamed.map_err(|error: io::Error| error.into()),
    }
}

fn record(dataset: &Dataset, name: &str, version: &str) -> Result<Suite> {
    let tasks: Vec<TaskRow> =
        dataset.read::<TaskRow>(Table::Tasks)?.collect::<Result<_, StoreError>>().context("the tasks")?;
    let split = tasks.first().and_then(|task| task.split.clone()).unwrap_or_else(|| "eval".to_owned());
    let inside = |task: &TaskRow, path: &str| path.strip_prefix(&format!("{}/", task.id)).unwrap_or(path).to_owned();
    let tasks = tasks.into_iter().map(|task| SuiteTask {
        graphs: task.graphs.iter().map(|path| inside(&task, path)).collect(),
        id: task.id,
        ops: task.ops,
        held_out: Vec::new(),
    });
    Ok(Suite {
        schema_version: SCHEMA_VERSION,
        name: name.to_owned(),
        version: version.to_owned(),
        split,
        description: "Parts of models captured with random weights; see docs/dataset-card.md".to_owned(),
        tasks: tasks.collect(),
    })
}
