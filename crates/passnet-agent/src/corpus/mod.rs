//! Trajectories as a body of data: read, counted, selected, kept apart, exported.

mod export;
mod plot;
mod select;
mod split;
mod stats;

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
};

pub use self::{
    export::{Format, example},
    plot::page,
    select::{By, Criteria, Dedup, Selector},
    split::{EvaluationTasks, Overlap, Split, SplitReport, Splitter},
    stats::{BestSoFar, Flow, Stats},
};
use crate::{journal::SCHEMA_VERSION, trajectory::Trajectory};

/// Why trajectories cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is no trajectory.
    #[error("{path}:{line}: not a trajectory: {message}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// Written by a later version.
    #[error("{path}:{line}: schema version {found} is not known here; install a later passnet")]
    Version {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Its version.
        found: u32,
    },
}

/// Name of the file of a run that holds its trajectories.
const OF_RUN: &str = "trajectories.jsonl";

/// The trajectories of files (JSONL, or `.zst` of it) and of directories, one at a time: of a run those in its
/// `trajectories.jsonl`, of any other directory those of all `.jsonl` and `.jsonl.zst` files in it, by name.
///
/// # Errors
/// Where a file cannot be opened; each item may be an error of its own.
pub fn read(paths: &[PathBuf]) -> Result<impl Iterator<Item = Result<Trajectory, ReadError>> + use<>, ReadError> {
    let mut files = Vec::new();
    for path in paths {
        for path in files_of(path).map_err(|source| ReadError::Io { path: path.clone(), source })? {
            let lines = open(&path).map_err(|source| ReadError::Io { path: path.clone(), source })?;
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

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = File::open(path)?;
    Ok(match path.extension() {
        Some(kind) if kind == "zst" => Box::new(BufReader::new(zstd::Decoder::new(file)?)),
        _ => Box::new(BufReader::new(file)),
    })
}

fn files_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    let of_run = path.join(OF_RUN);
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    } else if of_run.is_file() || path.join("run.json").is_file() {
        return Ok(vec![of_run]);
    }
    let entries = path.read_dir()?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    let holds_lines = |file: &PathBuf| {
        let name = file.to_string_lossy();
        name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")
    };
    let mut files: Vec<PathBuf> = entries.into_iter().filter(holds_lines).collect();
    files.sort();
    Ok(files)
}

fn parse(path: &Path, line: usize, text: &str) -> Result<Trajectory, ReadError> {
    let malformed =
        |error: serde_json::Error| ReadError::Malformed { path: path.to_owned(), line, message: error.to_string() };
    #[derive(serde::Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let Version { schema_version: found } = serde_json::from_str(text).map_err(malformed)?;
    if found > SCHEMA_VERSION {
        return Err(ReadError::Version { path: path.to_owned(), line, found });
    }
    serde_json::from_str(text).map_err(malformed)
}
