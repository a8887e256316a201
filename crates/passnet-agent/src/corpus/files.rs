//! Selections and exports of trajectories, from files to files. No result appears before it is complete.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use fs_err as fs;

use super::{
    export::{Format, example},
    lines::Lines,
    read::{ReadError, read},
    select::{By, Criteria, Dedup, Selector},
    split::{EvaluationTasks, SplitPart, SplitReport, Splitter},
};

/// Error of a selection or export.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Trajectories cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The parts of a split have graphs in common.
    #[error("the parts share graphs ({0:?}); nothing was written")]
    Shared(Box<SplitReport>),
}

/// Writes the trajectories that meet the criteria. Returns the counts of the selection.
///
/// # Errors
/// Fails if a file cannot be read or written.
pub fn filter(inputs: &[PathBuf], criteria: Criteria, out: &Path) -> Result<Selector, ExportError> {
    let mut selector = Selector::new(criteria);
    let mut lines = Lines::create(out)?;
    for trajectory in read(inputs)? {
        let trajectory = trajectory?;
        if selector.keeps(&trajectory) {
            lines.push(&trajectory)?;
        }
    }
    lines.finish()?;
    Ok(selector)
}

/// Writes the best of those trajectories that are the same. Returns how many were kept, and of how many.
///
/// # Errors
/// Fails if a file cannot be read or written.
pub fn dedup(inputs: &[PathBuf], by: By, out: &Path) -> Result<(usize, usize), ExportError> {
    let mut dedup = Dedup::new(by);
    let mut total = 0;
    for trajectory in read(inputs)? {
        dedup.add(&trajectory?);
        total += 1;
    }
    // Two passes over the files: collections can exceed memory, positions do not.
    let kept: BTreeSet<usize> = dedup.kept();
    let mut lines = Lines::create(out)?;
    for (index, trajectory) in read(inputs)?.enumerate() {
        if kept.contains(&index) {
            lines.push(&trajectory?)?;
        }
    }
    lines.finish()?;
    Ok((kept.len(), total))
}

/// Writes `train.jsonl`, `validation.jsonl` and `split.json` into a folder. `validation` is the share of the tasks that
/// goes to validation.
///
/// # Errors
/// Fails if a file cannot be read or written, or if parts have graphs in common.
pub fn split(
    inputs: &[PathBuf],
    evaluation: EvaluationTasks,
    validation: f64,
    out: &Path,
) -> Result<SplitReport, ExportError> {
    let mut splitter = Splitter::new(evaluation, validation);
    for trajectory in read(inputs)? {
        splitter.learn(&trajectory?);
    }
    let mut train = Lines::create(&out.join("train.jsonl"))?;
    let mut validation = Lines::create(&out.join("validation.jsonl"))?;
    for trajectory in read(inputs)? {
        let trajectory = trajectory?;
        match splitter.assign(&trajectory) {
            SplitPart::Train => train.push(&trajectory)?,
            SplitPart::Validation => validation.push(&trajectory)?,
            SplitPart::Excluded(_) => {}
        }
    }
    let report = splitter.finish();
    // Checked before `finish`, which gives the files their names: a leaking split never appears on disk.
    if report.shared_with_evaluation + report.shared_with_validation > 0 {
        return Err(ExportError::Shared(Box::new(report)));
    }
    train.finish()?;
    validation.finish()?;
    fs::write(out.join("split.json"), serde_json::to_vec_pretty(&report).map_err(io::Error::from)?)?;
    Ok(report)
}

/// Writes training data, one JSON object per line. Returns the number of lines.
///
/// # Errors
/// Fails if a file cannot be read or written.
pub fn export(inputs: &[PathBuf], format: Format, out: &Path) -> Result<usize, ExportError> {
    let mut lines = Lines::create(out)?;
    let mut count = 0;
    for trajectory in read(inputs)? {
        lines.push(&example(&trajectory?, format))?;
        count += 1;
    }
    lines.finish()?;
    Ok(count)
}
