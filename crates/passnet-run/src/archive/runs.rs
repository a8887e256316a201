//! Run directories and bundles as views.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_record::{AuthorSpec, ContentId, RunEvent, RunHeader, Verdict};
use passnet_score::{Outcomes, ScoreError, ScoreReport, ScoreSettings};
use passnet_web::{Origin, PassSet, RunView};

use crate::{
    RunLog, StoreError,
    bundle::{self, BundleError},
};

/// An error of reading the runs that pages show.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A folder cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A run cannot be read.
    #[error(transparent)]
    Run(#[from] StoreError),
    /// A bundle cannot be read.
    #[error("{path}: neither a run directory nor a sound bundle; `passnet bundle RUN` makes bundles")]
    Bundle { path: PathBuf, source: BundleError },
    /// The scores of a run cannot be computed.
    #[error("{path} cannot be scored")]
    Score { path: PathBuf, source: ScoreError },
}

/// The source of the blobs of a run.
#[derive(Clone, Debug)]
pub enum BlobSource {
    Directory(PathBuf),
    /// Blobs of a verified bundle, in memory.
    Bundle(std::sync::Arc<BTreeMap<ContentId, Vec<u8>>>),
}

/// Returns whether a directory holds a run log.
fn is_run(path: &Path) -> bool {
    path.join("run.jsonl").is_file() || path.join("run.jsonl.zst").is_file()
}

fn is_bundle(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == bundle::EXTENSION) && path.is_file()
}

/// Returns the runs and bundles at a path: the path itself, or the runs and bundles in a folder, sorted by name.
///
/// # Errors
/// If the folder cannot be read.
pub fn find_runs(path: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    if is_run(path) || path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !path.exists() {
        return Err(StoreError::Missing { path: path.to_owned() }.into());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if is_run(&path) || is_bundle(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a run directory or a bundle and computes its scores with the default settings. Returns the run and the source of its blobs.
///
/// # Errors
/// If the run cannot be read, or has no verdicts yet.
pub fn read_source(path: &Path) -> Result<(RunView, BlobSource), ArchiveError> {
    if path.is_file() {
        let bundle = bundle::read(path).map_err(|source| ArchiveError::Bundle { path: path.to_owned(), source })?;
        let view = view(&bundle.log, Origin::Bundle { id: bundle.id }, path)?;
        return Ok((view, BlobSource::Bundle(std::sync::Arc::new(bundle.blobs))));
    }
    let log = RunLog::read(path)?;
    Ok((view(&log, Origin::Directory, path)?, BlobSource::Directory(path.to_owned())))
}

/// Reads a run or a bundle like [`read_source`], but without the blobs.
///
/// # Errors
/// The errors of [`read_source`].
pub fn load_run(path: &Path) -> Result<RunView, ArchiveError> {
    Ok(read_source(path)?.0)
}

/// Reads the runs and bundles at some paths. Each path is a run, a bundle, or a folder of runs and bundles.
///
/// # Errors
/// If a path has no run, or a run cannot be read.
pub fn load_runs(paths: &[PathBuf]) -> Result<Vec<RunView>, ArchiveError> {
    let mut runs = Vec::new();
    for path in paths {
        let found = find_runs(path)?;
        if found.is_empty() {
            return Err(StoreError::Missing { path: path.clone() }.into());
        }
        for path in found {
            runs.push(load_run(&path)?);
        }
    }
    Ok(runs)
}

/// Scores the verdicts of a run with the default settings. The result has no passes.
///
/// # Errors
/// If the run has no verdicts yet.
pub fn score_run(header: RunHeader, verdicts: Vec<Verdict>) -> Result<RunView, ScoreError> {
    let outcomes = Outcomes::from_verdicts(&verdicts, header.settings.correct_at);
    let score = ScoreReport::new(&outcomes, &ScoreSettings::default())?;
    Ok(RunView { header, verdicts, score, passes: Vec::new(), origin: Origin::Directory })
}

/// Largest number of characters of a name on pages. A name occurs on many pages, and logs of other people can have names of any length.
const MAX_NAME: usize = 200;

/// Returns a header with names that are short enough for pages.
pub fn shown_header(header: &RunHeader) -> RunHeader {
    let mut header = header.clone();
    let argument = header.author.argument().map(|argument| shortened(argument.to_owned()));
    header.author = AuthorSpec::new(&shortened(header.author.kind().to_owned()), argument);
    let metadata = &mut header.metadata;
    let names =
        [&mut metadata.name, &mut metadata.organisation, &mut metadata.commit, &mut header.suite, &mut header.run];
    for name in names {
        *name = shortened(std::mem::take(name));
    }
    // A shortened address would lead elsewhere, so a long address is dropped and not cut.
    if metadata.link.chars().nth(MAX_NAME).is_some() {
        metadata.link.clear();
    }
    header
}

fn shortened(name: String) -> String {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

fn view(log: &RunLog, origin: Origin, path: &Path) -> Result<RunView, ArchiveError> {
    let verdicts = log.verdicts().into_iter().cloned().collect();
    let scored = score_run(shown_header(&log.header), verdicts);
    let scored = scored.map_err(|source| ArchiveError::Score { path: path.to_owned(), source })?;
    Ok(RunView { passes: passes(log), origin, ..scored })
}

/// Returns the last pass directory of each task.
fn passes(log: &RunLog) -> Vec<PassSet> {
    let mut sets: BTreeMap<&str, PassSet> = BTreeMap::new();
    for event in &log.events {
        if let RunEvent::Passes { task, id, files } = event {
            // Later events replace earlier ones: a run that was continued may have written its passes again.
            sets.insert(task, PassSet { task: task.clone(), id: id.clone(), files: files.clone() });
        }
    }
    sets.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_length_that_pages_can_show() {
        assert_eq!(shortened("fuse".to_owned()), "fuse");
        assert_eq!(shortened("é".repeat(MAX_NAME)), "é".repeat(MAX_NAME));
        assert_eq!(shortened("é".repeat(10 << 20)), format!("{}…", "é".repeat(MAX_NAME)));
    }
}
