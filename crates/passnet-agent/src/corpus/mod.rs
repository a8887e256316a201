//! Trajectories as a body of data: read, counted, selected, kept apart, exported.

mod export;
mod plot;
mod select;
mod split;
mod stats;

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
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

/// The trajectories of files (JSONL) and of directories of runs, one at a time.
///
/// # Errors
/// Where a file cannot be opened; each item may be an error of its own.
pub fn read(paths: &[PathBuf]) -> Result<impl Iterator<Item = Result<Trajectory, ReadError>>, ReadError> {
    let mut files = Vec::new();
    for path in paths {
        let path = if path.is_dir() { path.join("trajectories.jsonl") } else { path.clone() };
        let file = File::open(&path).map_err(|source| ReadError::Io { path: path.clone(), source })?;
        files.push((path, file));
    }
    Ok(files.into_iter().flat_map(|(path, file)| {
        let lines = BufReader::new(file).lines().enumerate();
        lines.filter(|(_, line)| !matches!(line, Ok(line) if line.trim().is_empty())).map(move |(index, line)| {
            let line = line.map_err(|source| ReadError::Io { path: path.clone(), source })?;
            parse(&path, index + 1, &line)
        })
    }))
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
