//! Reading of trajectories.

use std::{
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
};

use passnet_record::agent::{TRAJECTORY_VERSION, Trajectory, TrajectoryVersion};
use passnet_run::open_input;

/// Error of reading trajectories.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such file or folder.
    #[error(
        "{path}: cannot read trajectories: there is no such file or folder; name a `.jsonl` file or the folder of a run of `passnet agent run`"
    )]
    Missing {
        /// File or folder.
        path: PathBuf,
    },
    /// A folder has no file of trajectories.
    #[error(
        "{path}: there are no trajectories: the folder has no `.jsonl` or `.jsonl.zst` file; `passnet agent run` writes them"
    )]
    NoFiles {
        /// Folder.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// File.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A line is not a trajectory.
    #[error("{path}:{line}: not a trajectory: {message}")]
    Malformed {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Description of the mistake.
        message: String,
    },
    /// A later version wrote the line.
    #[error("{path}:{line}: schema version {found} is not known here; install a later passnet")]
    Version {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Version of the line.
        found: u32,
    },
}

/// Name of the file with a run's trajectories.
const OF_RUN: &str = "trajectories.jsonl";

/// Reads trajectories of files (JSONL, or `.zst` of it) and directories, one at a time. For a run it reads its
/// `trajectories.jsonl`, for any other directory all `.jsonl` and `.jsonl.zst` files in it, by name.
///
/// # Errors
/// Fails if a file cannot be opened, or a directory has none; each item may be a separate error.
pub fn read(paths: &[PathBuf]) -> Result<impl Iterator<Item = Result<Trajectory, ReadError>> + use<>, ReadError> {
    let mut files = Vec::new();
    for path in paths {
        // All files are opened before the first line is read, so that a wrong path fails immediately and not after an hour.
        let of_path = files_of(path).map_err(|source| unreadable(path, source))?;
        if of_path.is_empty() {
            return Err(ReadError::NoFiles { path: path.clone() });
        }
        for path in of_path {
            let lines = open(&path).map_err(|source| unreadable(&path, source))?;
            files.push((path, lines));
        }
    }
    Ok(files.into_iter().flat_map(|(path, lines)| {
        let lines = lines.lines().enumerate();
        lines.filter(|(_, line)| !matches!(line, Ok(line) if line.trim().is_empty())).map(move |(index, line)| {
            let line = line.map_err(|source| ReadError::Io { path: path.clone(), source })?;
            parse(&path, index + 1, &line)
        })
    }))
}

fn unreadable(path: &Path, source: io::Error) -> ReadError {
    let path = path.to_owned();
    if source.kind() == io::ErrorKind::NotFound { ReadError::Missing { path } } else { ReadError::Io { path, source } }
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = open_input(path)?;
    Ok(match path.extension() {
        Some(kind) if kind == "zst" => Box::new(BufReader::new(zstd::Decoder::new(file)?)),
        _ => Box::new(BufReader::new(file)),
    })
}

fn files_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    let of_run = path.join(OF_RUN);
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    // A run holds other JSON lines as well (its log, journals), which are not trajectories.
    } else if of_run.is_file() || path.join("run.json").is_file() {
        return Ok(vec![of_run]);
    }
    let entries = path.read_dir()?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    let holds_lines = |file: &PathBuf| {
        let name = file.to_string_lossy();
        name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")
    };
    let mut files: Vec<PathBuf> = entries.into_iter().filter(holds_lines).collect();
    // The order of a directory differs between file systems.
    files.sort();
    Ok(files)
}

fn parse(path: &Path, line: usize, text: &str) -> Result<Trajectory, ReadError> {
    let malformed =
        |error: serde_json::Error| ReadError::Malformed { path: path.to_owned(), line, message: error.to_string() };
    // The version is read first: a line of a later version may not parse here, and its error should say why.
    let TrajectoryVersion { schema_version: found } = serde_json::from_str(text).map_err(malformed)?;
    if found > TRAJECTORY_VERSION {
        return Err(ReadError::Version { path: path.to_owned(), line, found });
    }
    serde_json::from_str(text).map_err(malformed)
}
