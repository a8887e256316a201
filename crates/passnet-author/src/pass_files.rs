//! Reading of pass directories from disk.

use std::{
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use fs_err as fs;
use passnet_record::{FilePathError, LIBRARY_MANIFEST, ORDER_FILE, PassDirectory};

/// Size of the largest accepted pass directory: bytes of all its files together. There is a limit because the files are read into
/// memory, and a mistyped path may name any folder.
const MAX_PASS_BYTES: u64 = 16 << 20;

/// Error of reading a pass directory.
#[derive(Debug, thiserror::Error)]
pub enum PassDirError {
    /// The directory cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is nothing at the path.
    #[error("{path}: there is no such pass directory; `passnet new TASK --out DIR` writes one")]
    Missing { path: PathBuf },
    /// The path is that of a file.
    #[error("{path}: a file and no pass directory; name the folder that it is in")]
    IsFile { path: PathBuf },
    /// The files have more bytes than a pass directory may have.
    #[error("{path}: the pass directory has more than {MAX_PASS_BYTES} bytes, the limit")]
    TooLarge { path: PathBuf },
    /// A link, device or other entry that is neither file nor directory.
    #[error("{path}: a pass directory may only contain plain files and directories")]
    NotPlain {
        /// The entry.
        path: PathBuf,
    },
    /// A file name is not allowed in a pass directory.
    #[error(transparent)]
    Path(#[from] FilePathError),
}

/// Checks that there is a folder at a path that should be a pass directory, or a folder of them.
///
/// # Errors
/// [`PassDirError::Missing`] or [`PassDirError::IsFile`].
pub fn check_pass_folder(path: &Path) -> Result<(), PassDirError> {
    match path.to_owned() {
        path if path.is_dir() => Ok(()),
        path if path.exists() => Err(PassDirError::IsFile { path }),
        path => Err(PassDirError::Missing { path }),
    }
}

/// Writes a pass directory into a folder, which is created if it does not exist. Returns the names of its Python files.
///
/// # Errors
/// If a file cannot be written.
pub fn write_pass_directory<'d>(folder: &Path, directory: &'d PassDirectory) -> io::Result<Vec<&'d str>> {
    fs::create_dir_all(folder)?;
    for (name, bytes) in directory.files() {
        fs::write(folder.join(name), bytes)?;
    }
    Ok(directory.files().iter().map(|(name, _)| name.as_str()).filter(|name| name.ends_with(".py")).collect())
}

/// Reads all files below a directory, except those in `__pycache__` and the manifest of a pass library. Later changes on disk do
/// not affect the result.
///
/// # Errors
/// If the directory cannot be read, is too large, or has an entry that is not a plain file.
pub fn read_pass_directory(directory: &Path) -> Result<PassDirectory, PassDirError> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    let mut total = 0;
    while let Some(current) = open.pop() {
        for entry in fs::read_dir(&current)? {
            let path = entry?.path();
            // Links are not followed: they could lead to files that the author may not read.
            let kind = fs::symlink_metadata(&path)?;
            if kind.is_dir() {
                if path.file_name().is_some_and(|name| name != "__pycache__") {
                    open.push(path);
                }
                continue;
            }
            if !kind.is_file() {
                return Err(PassDirError::NotPlain { path });
            }
            // Workers and records get the passes alone.
            if path == directory.join(LIBRARY_MANIFEST) {
                continue;
            }
            total += kind.len();
            // The size is checked before the file is read.
            if total > MAX_PASS_BYTES {
                return Err(PassDirError::TooLarge { path: directory.to_owned() });
            }
            let name = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy().into_owned();
            files.push((name, fs::read(&path)?));
        }
    }
    Ok(PassDirectory::new(files)?)
}

/// Returns the modification times of the files of a pass directory, by name; `None` for files that cannot be read.
pub fn modification_times(directory: &Path) -> Vec<(PathBuf, Option<SystemTime>)> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                let changed = path.metadata().and_then(|meta| meta.modified()).ok();
                files.push((path, changed));
            }
        }
    }
    files.sort();
    files
}

/// Reads all pass directories at or below some folders, in the order of their paths. A folder with an order file is a pass
/// directory; folders below it are not searched.
///
/// # Errors
/// As [`read_pass_directory`], and if a folder does not exist.
pub fn pass_directories(roots: &[PathBuf]) -> Result<Vec<(PathBuf, PassDirectory)>, PassDirError> {
    let mut found = Vec::new();
    for root in roots {
        check_pass_folder(root)?;
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            if folder.join(ORDER_FILE).is_file() {
                found.push((folder.clone(), read_pass_directory(&folder)?));
                continue;
            }
            let mut below = Vec::new();
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    below.push(entry.path());
                }
            }
            // The stack returns the last one first.
            below.sort_unstable_by(|a, b| b.cmp(a));
            folders.extend(below);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pass_directories_are_found_below_folders() {
        let root = tempfile::tempdir().unwrap();
        for task in ["b", "a/inner", "none"] {
            fs::create_dir_all(root.path().join(task)).unwrap();
        }
        for task in ["b", "a/inner"] {
            fs::write(root.path().join(task).join(ORDER_FILE), "[]").unwrap();
        }
        let names: Vec<PathBuf> =
            pass_directories(&[root.path().to_owned()]).unwrap().into_iter().map(|(path, _)| path).collect();
        assert_eq!(names, [root.path().join("a/inner"), root.path().join("b")]);
        assert!(pass_directories(&["/nowhere/at/all".into()]).is_err());
    }

    #[test]
    fn a_pass_directory_is_what_its_files_are() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("kernels/__pycache__")).unwrap();
        fs::write(root.path().join("a.py"), "a").unwrap();
        fs::write(root.path().join(LIBRARY_MANIFEST), "{}").unwrap();
        fs::write(root.path().join("kernels/k.cu"), "k").unwrap();
        fs::write(root.path().join("kernels/__pycache__/k.pyc"), "x").unwrap();
        let passes = read_pass_directory(root.path()).unwrap();
        let names: Vec<&str> = passes.files().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a.py", "kernels/k.cu"]);
        fs::write(root.path().join("a.py"), "b").unwrap();
        assert_ne!(read_pass_directory(root.path()).unwrap().id(), passes.id());
        std::os::unix::fs::symlink("/etc/passwd", root.path().join("link.py")).unwrap();
        assert!(matches!(read_pass_directory(root.path()), Err(PassDirError::NotPlain { .. })));
    }
}
