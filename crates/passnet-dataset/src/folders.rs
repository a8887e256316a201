//! Conversion of sample and task folders to rows and back, without loss.
//!
//! A sample folder contains a `model.py` or a `graph_net.json`. All files below it belong to it. A task folder contains a
//! `graph_list.txt`, a `pass_dir`, or sample folders.

use std::{
    collections::BTreeSet,
    io,
    path::{Component, Path, PathBuf},
};

use fs_err as fs;

use crate::store::{NamedFile, SampleFiles, TaskRow};

/// Error of reading or writing a folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The path of a row would lead out of the destination folder.
    #[error("`{0}` is not a plain relative path and was not written")]
    Path(String),
    /// There is nothing at the path.
    #[error("{}: there is no such folder; name one that contains samples (`passnet extract MODEL --out DIR` writes samples)", .0.display())]
    Missing(PathBuf),
    /// The path is that of a file.
    #[error("{}: a file and no folder; name a folder that contains samples (`passnet extract MODEL --out DIR` writes samples)", .0.display())]
    IsFile(PathBuf),
    /// The folder is a sample, and not a folder of samples.
    #[error("{}: this is a sample; name the folder that contains it", .0.display())]
    IsSample(PathBuf),
    /// The name is not UTF-8, so it cannot be stored.
    #[error("{}: the name is not UTF-8; rename the file", .0.display())]
    Name(PathBuf),
}

/// Checks that there is a folder at a path that should contain samples.
///
/// # Errors
/// [`FolderError::Missing`] or [`FolderError::IsFile`].
pub fn check_folder(root: &Path) -> Result<(), FolderError> {
    match root.to_owned() {
        root if root.is_dir() => Ok(()),
        root if root.exists() => Err(FolderError::IsFile(root)),
        root => Err(FolderError::Missing(root)),
    }
}

/// Returns all sample folders below `root`, as paths below it in byte order. Symbolic links are not followed.
///
/// # Errors
/// If `root` is a sample or no folder, or a folder cannot be read or has a name that is not UTF-8.
pub fn find_samples(root: &Path) -> Result<Vec<String>, FolderError> {
    check_folder(root)?;
    if is_sample(root) {
        return Err(FolderError::IsSample(root.to_owned()));
    }
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        // Folders inside a sample belong to it, even if they look like samples.
        if is_sample(&root.join(&folder)) {
            found.push(folder);
        } else {
            folders
                .extend(entries(root, &folder)?.into_iter().filter(|(_, is_folder)| *is_folder).map(|(path, _)| path));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Reads all files of a sample folder.
///
/// # Errors
/// If a file cannot be read or has a name that is not UTF-8.
pub fn read_sample(folder: &Path) -> Result<SampleFiles, FolderError> {
    let mut files = SampleFiles::default();
    for file in read_files(folder, &BTreeSet::new())? {
        files.insert(file.name, file.content);
    }
    Ok(files)
}

/// Writes the files of a sample to `root/path`.
///
/// # Errors
/// If `path` or a file name leads out of `root`, or a file cannot be written.
pub fn write_sample(root: &Path, path: &str, files: &SampleFiles) -> Result<(), FolderError> {
    let folder = inside(root, path)?;
    fs::create_dir_all(&folder)?;
    files.iter().try_for_each(|(name, content)| write_file(&folder, name, content))
}

/// Reads a task folder without the content of its samples: `root/id`.
///
/// The graphs of the task are the samples in `graph_list.txt`, in its order, or else the sample folders in the task folder. The
/// list contains paths below the task folder or below `root`.
///
/// # Errors
/// If a file cannot be read or has a name that is not UTF-8.
pub fn read_task(root: &Path, id: &str) -> Result<TaskRow, FolderError> {
    let inner = find_samples(&root.join(id))?;
    let skipped: BTreeSet<String> = inner.iter().cloned().collect();
    let files = read_files(&root.join(id), &skipped)?;
    let listed = files.iter().find(|file| file.name == GRAPH_LIST);
    let graphs = match listed {
        Some(list) => {
            let text = String::from_utf8_lossy(&list.content);
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let is_inner = |line: &str| inner.binary_search_by(|graph| graph.as_str().cmp(line)).is_ok();
            lines.map(|line| if is_inner(line) { format!("{id}/{line}") } else { line.to_owned() }).collect()
        }
        None => inner.into_iter().map(|graph| format!("{id}/{graph}")).collect(),
    };
    Ok(TaskRow { id: id.to_owned(), split: None, ops: Vec::new(), graphs, files })
}

/// Returns the task folders directly in `root`, in byte order.
///
/// # Errors
/// If a folder cannot be read or has a name that is not UTF-8.
pub fn find_tasks(root: &Path) -> Result<Vec<String>, FolderError> {
    let mut found = Vec::new();
    for (path, is_folder) in entries(root, "")? {
        let folder = root.join(&path);
        if !is_folder || is_sample(&folder) {
            continue;
        }
        let holds_samples = || -> Result<bool, FolderError> {
            Ok(entries(root, &path)?.iter().any(|(inner, is_folder)| *is_folder && is_sample(&root.join(inner))))
        };
        if folder.join(GRAPH_LIST).is_file() || folder.join(PASS_DIR).is_dir() || holds_samples()? {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Writes the files of a task to `root/id`. [`write_sample`] writes its samples.
///
/// # Errors
/// As [`write_sample`].
pub fn write_task(root: &Path, task: &TaskRow) -> Result<(), FolderError> {
    let folder = inside(root, &task.id)?;
    fs::create_dir_all(&folder)?;
    task.files.iter().try_for_each(|file| write_file(&folder, &file.name, &file.content))
}

/// Upstream's list of the samples of a task, one path in each line.
const GRAPH_LIST: &str = "graph_list.txt";
/// Upstream's folder of the passes of a task.
const PASS_DIR: &str = "pass_dir";

fn is_sample(folder: &Path) -> bool {
    folder.join("model.py").is_file() || folder.join("graph_net.json").is_file()
}

/// Returns the entries of `root/folder` as paths below `root`, with true for a folder. Links and special files are left out.
fn entries(root: &Path, folder: &str) -> Result<Vec<(String, bool)>, FolderError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        // A link could lead out of the folder, or form a cycle.
        if kind.is_dir() || kind.is_file() {
            let name = entry.file_name().into_string().map_err(|_| FolderError::Name(entry.path()))?;
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            found.push((path, kind.is_dir()));
        }
    }
    Ok(found)
}

/// Returns all files below `folder` except those below the `skipped` folders, in byte order of their names.
fn read_files(folder: &Path, skipped: &BTreeSet<String>) -> Result<Vec<NamedFile>, FolderError> {
    let mut files = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(inner) = folders.pop() {
        for (name, is_folder) in entries(folder, &inner)? {
            if is_folder {
                folders.extend((!skipped.contains(&name)).then_some(name));
            } else {
                let content = fs::read(folder.join(&name))?;
                files.push(NamedFile { name, content });
            }
        }
    }
    files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn write_file(folder: &Path, name: &str, content: &[u8]) -> Result<(), FolderError> {
    let path = inside(folder, name)?;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(fs::write(path, content)?)
}

/// Returns `root/path`, if it is below `root`.
fn inside(root: &Path, path: &str) -> Result<PathBuf, FolderError> {
    // Paths of rows come from tables that any person can publish, so they must not lead to other folders.
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if plain { Ok(root.join(path)) } else { Err(FolderError::Path(path.to_owned())) }
}
