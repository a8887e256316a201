//! Suites on disk: what there is to evaluate.
//!
//! Accepted are a directory with `suite.json`; a directory of task directories, each with sample folders (the layout of
//! the public PassBench, whose `index.json` names the ops of each task); one task directory; one sample folder; and a
//! `.tar.zst` archive of any of these.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_record::{ContentId, GraphId, SCHEMA_VERSION, SuiteTask};
use serde::Deserialize;

/// Largest accepted size of an unpacked archive, in bytes.
const MAX_UNPACKED: u64 = 8 << 30;

/// Why a suite cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A JSON file is not what it should be.
    #[error("{path}:{line}:{column}: {message}")]
    Json {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// `suite.json` is of a later version.
    #[error("{path}: schema version {found} is not known here; install a later passnet")]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// No `model.py` where one should be.
    #[error("{path}: no suite: expected suite.json, task directories with sample folders, or a model.py")]
    Empty {
        /// What was looked at.
        path: PathBuf,
    },
    /// A name in `suite.json` that leaves the suite's directory.
    #[error("{path}: `{name}` is not a plain directory name")]
    BadName {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// `held_out` names what is not among a task's graphs.
    #[error("{path}: task `{task}` holds out `{graph}`, which is not among its graphs; name it in `graphs` too")]
    HeldOut {
        /// The file.
        path: PathBuf,
        /// The task.
        task: String,
        /// What is held out.
        graph: String,
    },
}

/// Which part of a suite to take.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Keeps tasks of which one pattern fits the name or the op sequence (ops joined by `,`). A pattern with `*` or `?`
    /// has to fit the whole, one without has to occur. Empty keeps all.
    pub patterns: Vec<String>,
    /// Keeps the first tasks.
    pub tasks: Option<usize>,
    /// Keeps the first graphs of each task.
    pub graphs: Option<usize>,
}

/// A suite and where it lies.
#[derive(Debug)]
pub struct Suite {
    /// Its description; tasks and graphs are those selected.
    pub record: passnet_record::Suite,
    root: PathBuf,
    shape: Shape,
    /// Deleted with the suite.
    _unpacked: Option<tempfile::TempDir>,
}

/// How far below the root samples lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Tasks,
    OneTask,
    OneSample,
}

impl Suite {
    /// Loads a suite, without reading its graphs yet.
    ///
    /// # Errors
    /// Where nothing like a suite is found, or its files are malformed.
    pub fn load(path: &Path, selection: &Selection) -> Result<Self, SuiteError> {
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
        record.tasks.retain(|task| selection.patterns.is_empty() || fits_any(task, &selection.patterns));
        record.tasks.truncate(selection.tasks.unwrap_or(usize::MAX));
        for task in &mut record.tasks {
            task.graphs.truncate(selection.graphs.unwrap_or(usize::MAX));
            task.held_out.retain(|graph| task.graphs.contains(graph));
        }
        record.tasks.retain(|task| !task.graphs.is_empty());
        if record.tasks.is_empty() {
            return Err(SuiteError::Empty { path: path.to_owned() });
        }
        let mut suite = Self { record, root, shape, _unpacked: unpacked };
        if suite.record.version.is_empty() {
            suite.record.version = suite.content_version()?;
        }
        Ok(suite)
    }

    /// All graphs in order, those that are held out among them.
    pub fn graphs(&self) -> impl Iterator<Item = GraphId> + '_ {
        self.record
            .tasks
            .iter()
            .flat_map(|task| task.graphs.iter().map(|graph| GraphId { task: task.id.clone(), graph: graph.clone() }))
    }

    /// The graphs of a task that its author may see.
    pub fn visible<'s>(&self, task: &'s SuiteTask) -> impl Iterator<Item = GraphId> + 's {
        let graphs = task.graphs.iter().filter(|graph| !task.held_out.contains(graph));
        graphs.map(|graph| GraphId { task: task.id.clone(), graph: graph.clone() })
    }

    /// The sample folder of a graph.
    pub fn sample_dir(&self, id: &GraphId) -> PathBuf {
        match self.shape {
            Shape::Tasks => self.root.join(&id.task).join(&id.graph),
            Shape::OneTask => self.root.join(&id.graph),
            Shape::OneSample => self.root.clone(),
        }
    }

    /// A version for suites that do not name one: by what is evaluated.
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

/// A description for directories that have none.
fn unnamed(
    name: &str,
    tasks: Vec<(String, Vec<String>)>,
    mut ops: BTreeMap<String, IndexEntry>,
) -> passnet_record::Suite {
    let tasks = tasks.into_iter().map(|(id, graphs)| {
        let ops = ops.remove(&id).map(|entry| entry.ops).unwrap_or_default();
        SuiteTask { id, ops, graphs, held_out: Vec::new() }
    });
    passnet_record::Suite {
        schema_version: SCHEMA_VERSION,
        name: name.to_owned(),
        version: String::new(),
        split: "eval".to_owned(),
        description: String::new(),
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

fn read_suite(path: &Path) -> Result<passnet_record::Suite, SuiteError> {
    let suite: passnet_record::Suite = read_json(path)?;
    if suite.schema_version > SCHEMA_VERSION {
        return Err(SuiteError::Version { path: path.to_owned(), found: suite.schema_version });
    }
    let names = suite.tasks.iter().flat_map(|task| std::iter::once(&task.id).chain(&task.graphs));
    for name in names {
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

/// Names of the directories in a directory, sorted.
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
    let directory = tempfile::tempdir()?;
    let reader = zstd::Decoder::new(File::open(archive)?)?.take(MAX_UNPACKED);
    tar::Archive::new(reader).unpack(directory.path()).map_err(|error| {
        io::Error::new(error.kind(), format!("{}: not a .tar.zst archive of a suite: {error}", archive.display()))
    })?;
    Ok(directory)
}

/// Archives usually hold one directory; the suite is then that.
fn only_child(directory: &Path) -> Result<PathBuf, SuiteError> {
    let names = directories_in(directory)?;
    let files = fs::read_dir(directory)?.count();
    Ok(match names.as_slice() {
        [name] if files == 1 => directory.join(name),
        _ => directory.to_owned(),
    })
}

fn fits_any(task: &SuiteTask, patterns: &[String]) -> bool {
    let ops = task.ops.join(",");
    patterns.iter().any(|pattern| {
        if pattern.contains(['*', '?']) {
            fits(pattern.as_bytes(), task.id.as_bytes()) || fits(pattern.as_bytes(), ops.as_bytes())
        } else {
            task.id.contains(pattern) || ops.contains(pattern)
        }
    })
}

/// Whether a pattern with `*` (any run) and `?` (any byte) fits a whole text.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go on when the present reading fails: after the last star, with one more byte given to it.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, t + 1));
                p += 1;
            }
            Some(&byte) if byte == b'?' || byte == text[t] => (p, t) = (p + 1, t + 1),
            _ => match retry {
                Some((after, next)) => {
                    (p, t) = (after, next);
                    retry = Some((after, next + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(root: &Path, path: &str) {
        let directory = root.join(path);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("model.py"), path).unwrap();
        fs::write(directory.join("weight_meta.py"), "").unwrap();
    }

    fn ids(suite: &Suite) -> Vec<String> {
        suite.graphs().map(|id| format!("{}/{}", id.task, id.graph)).collect()
    }

    #[test]
    fn every_layout_is_found() {
        let root = tempfile::tempdir().unwrap();
        for path in ["a/000", "a/001", "b/000"] {
            sample(root.path(), path);
        }
        fs::write(root.path().join("index.json"), r#"{"b": {"ops": ["conv2d", "relu"], "entries": []}}"#).unwrap();
        let all = Suite::load(root.path(), &Selection::default()).unwrap();
        assert_eq!(ids(&all), ["a/000", "a/001", "b/000"]);
        assert_eq!(all.record.version.len(), 12);

        let relu = Selection { patterns: vec!["conv2d,*".to_owned()], ..Selection::default() };
        assert_eq!(ids(&Suite::load(root.path(), &relu).unwrap()), ["b/000"]);
        let first = Selection { graphs: Some(1), tasks: Some(1), ..Selection::default() };
        assert_eq!(ids(&Suite::load(root.path(), &first).unwrap()), ["a/000"]);

        let task = Suite::load(&root.path().join("a"), &Selection::default()).unwrap();
        assert_eq!(ids(&task), ["a/000", "a/001"]);
        let one = Suite::load(&root.path().join("a/001"), &Selection::default()).unwrap();
        assert_eq!(ids(&one), ["001/001"]);
        let id = one.graphs().next().unwrap();
        assert_eq!(fs::read_to_string(one.sample_dir(&id).join("model.py")).unwrap(), "a/001");
    }

    #[test]
    fn archives_are_unpacked() {
        let root = tempfile::tempdir().unwrap();
        sample(root.path(), "bench/a/000");
        let archive = root.path().join("bench.tar.zst");
        let mut tar = tar::Builder::new(Vec::new());
        tar.append_dir_all("bench", root.path().join("bench")).unwrap();
        fs::write(&archive, zstd::encode_all(tar.into_inner().unwrap().as_slice(), 1).unwrap()).unwrap();
        let suite = Suite::load(&archive, &Selection::default()).unwrap();
        assert_eq!((suite.record.name.as_str(), ids(&suite)), ("bench", vec!["a/000".to_owned()]));
        fs::write(&archive, b"rubbish").unwrap();
        assert!(Suite::load(&archive, &Selection::default()).unwrap_err().to_string().contains("bench.tar.zst"));
    }

    #[test]
    fn bad_suites_are_named() {
        let root = tempfile::tempdir().unwrap();
        assert!(matches!(Suite::load(root.path(), &Selection::default()), Err(SuiteError::Empty { .. })));
        let path = root.path().join("suite.json");
        fs::write(&path, "{\n \"name\": 3}").unwrap();
        assert!(matches!(Suite::load(root.path(), &Selection::default()), Err(SuiteError::Json { line: 2, .. })));
        let text = |task: &str, version: u32| {
            format!(
                r#"{{"schema_version": {version}, "name": "n", "version": "1", "split": "eval", "description": "",
                    "tasks": [{{"id": "{task}", "ops": [], "graphs": ["000"]}}]}}"#
            )
        };
        fs::write(&path, text("../up", 1)).unwrap();
        assert!(matches!(Suite::load(root.path(), &Selection::default()), Err(SuiteError::BadName { .. })));
        fs::write(&path, text("a", 99)).unwrap();
        assert!(matches!(Suite::load(root.path(), &Selection::default()), Err(SuiteError::Version { .. })));
        fs::write(&path, text("a", 1).replace("}]}", r#", "held_out": ["001"]}]}"#)).unwrap();
        assert!(matches!(Suite::load(root.path(), &Selection::default()), Err(SuiteError::HeldOut { .. })));
    }

    #[test]
    fn held_out_graphs_are_evaluated_but_not_visible() {
        let root = tempfile::tempdir().unwrap();
        let task = r#"{"id": "a", "ops": [], "graphs": ["000", "001"], "held_out": ["001"]}"#;
        let text = format!(
            r#"{{"schema_version": 1, "name": "n", "version": "1", "split": "eval", "description": "", "tasks": [{task}]}}"#
        );
        fs::write(root.path().join("suite.json"), text).unwrap();
        let suite = Suite::load(root.path(), &Selection::default()).unwrap();
        assert_eq!(ids(&suite), ["a/000", "a/001"]);
        let visible: Vec<_> = suite.visible(&suite.record.tasks[0]).map(|id| id.graph).collect();
        assert_eq!(visible, ["000"]);
        let first = Suite::load(root.path(), &Selection { graphs: Some(1), ..Selection::default() }).unwrap();
        assert!(first.record.tasks[0].held_out.is_empty());
    }

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abbcd", false),
            ("a?c*", "abc", true),
            ("*b*b", "abab", true),
            ("a", "", false),
        ] {
            assert_eq!(fits(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }
}
