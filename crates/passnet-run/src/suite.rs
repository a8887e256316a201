//! Suites on disk: the tasks and graphs to evaluate.
//!
//! A suite is a directory with `suite.json`, a directory of task directories, one task directory, one sample folder, or a `.tar.zst`
//! archive of any of these. A task directory has sample folders. This is the layout of the public PassBench, whose `index.json` names the
//! ops of each task.

mod pattern;
mod similar;

use std::{
    collections::BTreeMap,
    fmt,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_record::{ContentId, GraphId, SCHEMA_VERSION, Split, SuiteTask};
use serde::Deserialize;

use self::{
    pattern::matches_any,
    similar::{existing_tasks, similar_path},
};

/// Largest accepted size of an unpacked archive, in bytes. A small archive can unpack to any size and fill the disk.
const MAX_UNPACKED: u64 = 8 << 30;

/// An error of [`Suite::load`].
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A JSON file is malformed or lacks a field.
    #[error("{path}:{line}:{column}: {message}")]
    Json {
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        message: String,
    },
    /// `suite.json` is of a later version.
    #[error("{path}: schema version {found} is newer than this program; install a newer PassNet")]
    Version {
        path: PathBuf,
        /// The version that was found.
        found: u32,
    },
    /// There is no file or directory at the path.
    #[error("{path}: no such suite, task or sample; {}", advice(path))]
    NotFound { path: PathBuf },
    /// No task of the suite is selected.
    #[error("{path}: no task matches {what}; {hint}")]
    NoMatch {
        path: PathBuf,
        /// The selection, as text.
        what: String,
        /// Names of tasks that exist, as text.
        hint: String,
    },
    /// The path has no sample: no `model.py` was found.
    #[error("{path}: not a suite: expected suite.json, task folders with sample folders, or a model.py")]
    Empty { path: PathBuf },
    /// A name in `suite.json` is a path that leaves the suite's directory.
    #[error("{path}: `{name}` is not a plain directory name")]
    BadName { path: PathBuf, name: String },
    /// `held_out` names a graph that the task does not have.
    #[error("{path}: task `{task}` holds out `{graph}`, which is not among its graphs; name it in `graphs` too")]
    HeldOut {
        path: PathBuf,
        task: String,
        /// The graph that is held out.
        graph: String,
    },
}

/// Returns how to correct a path that does not exist.
fn advice(missing: &Path) -> String {
    similar_path(missing)
        .map_or_else(|| "check the path".to_owned(), |path| format!("did you mean `{}`?", path.display()))
}

/// The part of a suite to take.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Keeps tasks whose name or op sequence (ops joined by `,`) matches one pattern. A pattern with `*` or `?` has to match the whole
    /// text; any other pattern has to occur in the text. An empty list keeps all tasks.
    pub patterns: Vec<String>,
    /// Keeps only this number of tasks, from the first on; `None` keeps all.
    pub tasks: Option<usize>,
    /// Keeps only this number of graphs of each task, from the first on; `None` keeps all.
    pub graphs: Option<usize>,
}

impl Selection {
    /// Removes the tasks and graphs that are not selected.
    fn apply(&self, tasks: &mut Vec<SuiteTask>) {
        tasks.retain(|task| self.patterns.is_empty() || matches_any(task, &self.patterns));
        tasks.truncate(self.tasks.unwrap_or(usize::MAX));
        for task in tasks.iter_mut() {
            task.graphs.truncate(self.graphs.unwrap_or(usize::MAX));
            // A graph that is not selected must not be listed as held out: readers reject such a suite.
            task.held_out.retain(|graph| task.graphs.contains(graph));
        }
        tasks.retain(|task| !task.graphs.is_empty());
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patterns = self.patterns.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(" or ");
        let filter = if patterns.is_empty() { "the filter".to_owned() } else { format!("the filter {patterns}") };
        let limits = [("tasks", self.tasks), ("graphs per task", self.graphs)];
        let limits = limits.iter().filter_map(|(what, limit)| Some(format!(", at most {} {what}", (*limit)?)));
        write!(f, "{filter}{}", limits.collect::<String>())
    }
}

/// A suite and its location.
#[derive(Debug)]
pub struct Suite {
    /// Description of the suite, with the selected tasks and graphs only.
    pub record: passnet_record::SuiteManifest,
    root: PathBuf,
    shape: Shape,
    /// Directory of an unpacked archive; deleted when the suite is dropped.
    _unpacked: Option<tempfile::TempDir>,
}

/// Depth of the sample folders below the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Tasks,
    OneTask,
    OneSample,
}

impl Suite {
    /// Loads the description of a suite. Graphs are not read yet.
    ///
    /// # Errors
    /// If the path is not a suite, its files are malformed, or no task is selected.
    pub fn load(path: &Path, selection: &Selection) -> Result<Self, SuiteError> {
        if !path.exists() {
            return Err(SuiteError::NotFound { path: path.to_owned() });
        }
        let (root, unpacked) = if path.is_file() {
            let directory = unpack(path)?;
            (only_child(directory.path())?, Some(directory))
        } else {
            (path.to_owned(), None)
        };
        let name = suite_name(path);
        let (mut record, shape) = if root.join("suite.json").is_file() {
            (read_suite(&root.join("suite.json"))?, Shape::Tasks)
        } else if root.join("model.py").is_file() {
            (unnamed(&name, vec![(name.clone(), vec![name.clone()])], BTreeMap::new()), Shape::OneSample)
        } else {
            let graphs = samples_in(&root)?;
            if graphs.is_empty() {
                (unnamed(&name, tasks_in(&root)?, read_index(&root.join("index.json"))?), Shape::Tasks)
            } else {
                (unnamed(&name, vec![(name.clone(), graphs)], BTreeMap::new()), Shape::OneTask)
            }
        };
        record.tasks.retain(|task| !task.graphs.is_empty());
        if record.tasks.is_empty() {
            return Err(SuiteError::Empty { path: path.to_owned() });
        }
        let tasks: Vec<String> = record.tasks.iter().map(|task| task.id.clone()).collect();
        // This comes after the check for emptiness: a selection without a match is a different error from a folder without a suite.
        selection.apply(&mut record.tasks);
        if record.tasks.is_empty() {
            let (what, hint) = (selection.to_string(), existing_tasks(&selection.patterns, &tasks));
            return Err(SuiteError::NoMatch { path: path.to_owned(), what, hint });
        }
        let mut suite = Self { record, root, shape, _unpacked: unpacked };
        if suite.record.version.is_empty() {
            suite.record.version = suite.content_version()?;
        }
        Ok(suite)
    }

    /// Returns all graphs in order, including those that are held out.
    pub fn graphs(&self) -> impl Iterator<Item = GraphId> + '_ {
        self.record
            .tasks
            .iter()
            .flat_map(|task| task.graphs.iter().map(|graph| GraphId { task: task.id.clone(), graph: graph.clone() }))
    }

    /// Returns the graphs of a task that its author may see.
    pub fn visible<'s>(&self, task: &'s SuiteTask) -> impl Iterator<Item = GraphId> + 's {
        let graphs = task.graphs.iter().filter(|graph| !task.held_out.contains(graph));
        graphs.map(|graph| GraphId { task: task.id.clone(), graph: graph.clone() })
    }

    /// Returns the sample folder of a graph.
    pub fn sample_dir(&self, id: &GraphId) -> PathBuf {
        match self.shape {
            Shape::Tasks => self.root.join(&id.task).join(&id.graph),
            Shape::OneTask => self.root.join(&id.graph),
            Shape::OneSample => self.root.clone(),
        }
    }

    /// Returns a version for a suite that does not name one: a hash of the graphs that are evaluated.
    fn content_version(&self) -> Result<String, SuiteError> {
        let mut parts = Vec::new();
        for id in self.graphs() {
            let directory = self.sample_dir(&id);
            parts.extend([id.task.into_bytes(), id.graph.into_bytes(), fs::read(directory.join("model.py"))?]);
            parts.push(fs::read(directory.join("weight_meta.py"))?);
        }
        Ok(ContentId::of_parts(parts.iter().map(Vec::as_slice)).short().to_owned())
    }
}

/// Returns a description for directories without `suite.json`.
fn unnamed(
    name: &str,
    tasks: Vec<(String, Vec<String>)>,
    mut ops: BTreeMap<String, IndexEntry>,
) -> passnet_record::SuiteManifest {
    let tasks = tasks.into_iter().map(|(id, graphs)| {
        let ops = ops.remove(&id).map(|entry| entry.ops).unwrap_or_default();
        SuiteTask { id, ops, graphs, held_out: Vec::new() }
    });
    passnet_record::SuiteManifest {
        schema_version: SCHEMA_VERSION,
        name: name.to_owned(),
        version: String::new(),
        split: Split::Eval,
        description: String::new(),
        weights: None,
        tasks: tasks.collect(),
    }
}

fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, SuiteError> {
    let bytes = fs::read(path)?;
    serde_json::from_slice(&bytes).map_err(|error| SuiteError::Json {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        message: error.to_string(),
    })
}

fn read_suite(path: &Path) -> Result<passnet_record::SuiteManifest, SuiteError> {
    let suite: passnet_record::SuiteManifest = read_json(path)?;
    if suite.schema_version > SCHEMA_VERSION {
        return Err(SuiteError::Version { path: path.to_owned(), found: suite.schema_version });
    }
    let names = suite.tasks.iter().flat_map(|task| std::iter::once(&task.id).chain(&task.graphs));
    for name in names {
        // Names become paths below the suite; `..` or an absolute path would leave it.
        let plain = Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if name.is_empty() || !plain {
            return Err(SuiteError::BadName { path: path.to_owned(), name: name.clone() });
        }
    }
    for task in &suite.tasks {
        if let Some(graph) = task.held_out.iter().find(|graph| !task.graphs.contains(graph)) {
            return Err(SuiteError::HeldOut { path: path.to_owned(), task: task.id.clone(), graph: graph.clone() });
        }
    }
    Ok(suite)
}

#[derive(Deserialize)]
struct IndexEntry {
    ops: Vec<String>,
}

fn read_index(path: &Path) -> Result<BTreeMap<String, IndexEntry>, SuiteError> {
    if path.is_file() { read_json(path) } else { Ok(BTreeMap::new()) }
}

/// Returns the names of the directories in a directory, sorted.
fn directories_in(path: &Path) -> Result<Vec<String>, SuiteError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.path().is_dir() {
            names.extend(entry.file_name().into_string());
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn samples_in(path: &Path) -> Result<Vec<String>, SuiteError> {
    let mut names = directories_in(path)?;
    names.retain(|name| path.join(name).join("model.py").is_file());
    Ok(names)
}

fn tasks_in(path: &Path) -> Result<Vec<(String, Vec<String>)>, SuiteError> {
    let names = directories_in(path)?.into_iter();
    names.map(|name| samples_in(&path.join(&name)).map(|graphs| (name, graphs))).collect()
}

fn suite_name(path: &Path) -> String {
    let name = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_suffix(".tar.zst").unwrap_or(&name).to_owned()
}

fn unpack(archive: &Path) -> Result<tempfile::TempDir, SuiteError> {
    // A file of another kind is the wrong path, not a damaged archive.
    if archive.extension().is_none_or(|kind| kind != "zst") {
        return Err(SuiteError::Empty { path: archive.to_owned() });
    }
    let directory = tempfile::tempdir()?;
    // A small archive can unpack to any size. An archive above the limit is cut off here and fails as a damaged one.
    let reader = zstd::Decoder::new(File::open(archive)?)?.take(MAX_UNPACKED);
    tar::Archive::new(reader).unpack(directory.path()).map_err(|error| {
        io::Error::new(error.kind(), format!("{}: not a .tar.zst archive of a suite: {error}", archive.display()))
    })?;
    Ok(directory)
}

/// Returns the only subdirectory of a directory, else the directory itself: archives usually hold one directory with the suite.
fn only_child(directory: &Path) -> Result<PathBuf, SuiteError> {
    let names = directories_in(directory)?;
    let files = fs::read_dir(directory)?.count();
    Ok(match names.as_slice() {
        [name] if files == 1 => directory.join(name),
        _ => directory.to_owned(),
    })
}

#[cfg(test)]
mod tests;
