//! Run directories and bundles as views.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use fs_err as fs;
use passnet_eval::store::RunLog;
use passnet_record::{ContentId, RunEvent, RunHeader, Verdict};
use passnet_score::{Outcomes, ScoreReport, ScoreSettings};
use passnet_web::{Origin, PassSet, RunView};

use crate::bundle;

/// Where the blobs of a run are.
#[derive(Clone)]
pub(crate) enum Source {
    /// In its directory.
    Directory(PathBuf),
    /// In a verified bundle.
    Bundle(std::sync::Arc<BTreeMap<ContentId, Vec<u8>>>),
}

/// Whether a directory holds a run log.
fn is_run(path: &Path) -> bool {
    path.join("run.jsonl").is_file() || path.join("run.jsonl.zst").is_file()
}

fn is_bundle(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == bundle::EXTENSION) && path.is_file()
}

/// Runs and bundles at a path: itself, or what a folder holds, sorted by name.
///
/// # Errors
/// Where the folder cannot be read.
pub(crate) fn find_runs(path: &Path) -> Result<Vec<PathBuf>> {
    if is_run(path) || path.is_file() {
        return Ok(vec![path.to_owned()]);
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

/// Reads a run directory or a bundle, computes its scores with the default settings, and says where its blobs are.
///
/// # Errors
/// Where it cannot be read, or has no verdicts yet.
pub(crate) fn read_source(path: &Path) -> Result<(RunView, Source)> {
    if path.is_file() {
        let bundle = bundle::read(path).with_context(|| path.display().to_string())?;
        let view = view(&bundle.log, Origin::Bundle { id: bundle.id }, path)?;
        return Ok((view, Source::Bundle(std::sync::Arc::new(bundle.blobs))));
    }
    let log = RunLog::read(path)?;
    Ok((view(&log, Origin::Directory, path)?, Source::Directory(path.to_owned())))
}

/// As [`read_source`], without the blobs.
///
/// # Errors
/// As [`read_source`].
pub(crate) fn load_run(path: &Path) -> Result<RunView> {
    Ok(read_source(path)?.0)
}

/// Scores the verdicts of a run with the default settings; its passes are not looked up.
///
/// # Errors
/// Where it has no verdicts yet.
pub(crate) fn score_run(header: RunHeader, verdicts: Vec<Verdict>) -> Result<RunView> {
    let outcomes = Outcomes::from_verdicts(&verdicts, header.settings.correct_at);
    let score = ScoreReport::new(&outcomes, &ScoreSettings::default())?;
    Ok(RunView { header, verdicts, score, passes: Vec::new(), origin: Origin::Directory })
}

fn view(log: &RunLog, origin: Origin, path: &Path) -> Result<RunView> {
    let verdicts = log.verdicts().into_iter().cloned().collect();
    let scored = score_run(log.header.clone(), verdicts);
    let scored = scored.with_context(|| format!("{} cannot be scored", path.display()))?;
    Ok(RunView { passes: passes(log), origin, ..scored })
}

/// The last pass directory of each task.
fn passes(log: &RunLog) -> Vec<PassSet> {
    let mut sets: BTreeMap<&str, PassSet> = BTreeMap::new();
    for event in &log.events {
        if let RunEvent::Passes { task, id, files } = event {
            sets.insert(task, PassSet { task: task.clone(), id: id.clone(), files: files.clone() });
        }
    }
    sets.into_values().collect()
}
