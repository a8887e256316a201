//! Files of a run's directory: lock, settings, trajectories, best passes.

use std::{
    collections::BTreeMap,
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_record::agent::{AgentRunSettings, JournalEvent, TokenUsage, Trajectory};
use passnet_run::{FileLock, Suite};
use serde_json::{Map, Value};

use crate::journal::{Journal, JournalError};

/// Error of a run as a whole.
#[derive(Debug, thiserror::Error)]
pub enum AgentRunError {
    /// The directory cannot be read or written.
    #[error("cannot write the run: {0}")]
    Io(#[from] io::Error),
    /// Another process holds the lock.
    #[error("{0}: another process is writing to this run; wait for it or choose another directory")]
    Locked(PathBuf),
    /// The run started with other settings.
    #[error("{path}: this run started with {what} {before}, now it is {now}; choose another directory")]
    Mismatch {
        /// Directory of the run.
        path: PathBuf,
        /// Name of the setting.
        what: String,
        /// Value at the start of the run.
        before: Value,
        /// Value now.
        now: Value,
    },
    /// A journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Returns the directory of an attempt.
pub(super) fn attempt_directory(run: &Path, task: &str, attempt: u32) -> PathBuf {
    run.join("attempts").join(format!("{task}--{attempt}"))
}

/// Takes the lock of a run's directory.
pub(super) fn lock(directory: &Path) -> Result<FileLock, AgentRunError> {
    FileLock::try_acquire(&directory.join("lock"))?.ok_or_else(|| AgentRunError::Locked(directory.to_owned()))
}

/// Compares settings with those that the run started with, or records them for a new run.
pub(super) fn check_settings(directory: &Path, now: &AgentRunSettings) -> Result<(), AgentRunError> {
    let path = directory.join("run.json");
    match fs::read(&path) {
        Ok(bytes) => {
            let before: AgentRunSettings = serde_json::from_slice(&bytes).map_err(io::Error::from)?;
            let (before, now) = (fields(&before)?, fields(now)?);
            let what = now.keys().chain(before.keys()).find(|&name| before.get(name) != now.get(name));
            what.map_or(Ok(()), |what| {
                let of = |settings: &Map<String, Value>| settings.get(what).cloned().unwrap_or_default();
                let (path, before, now) = (directory.to_owned(), of(&before), of(&now));
                Err(AgentRunError::Mismatch { path, what: what.clone(), before, now })
            })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::write(&path, serde_json::to_vec_pretty(now).map_err(io::Error::from)?)?;
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns settings by name, as they are stored.
fn fields(settings: &AgentRunSettings) -> io::Result<Map<String, Value>> {
    Ok(serde_json::from_value(serde_json::to_value(settings)?)?)
}

/// Returns the tokens and money that all attempts of the directory have used.
pub(super) fn spent_before(directory: &Path) -> Result<TokenUsage, AgentRunError> {
    let mut spent = TokenUsage::default();
    for entry in fs::read_dir(directory.join("attempts"))? {
        for event in Journal::read(&entry?.path())? {
            if let JournalEvent::Reply { usage, .. } = event {
                spent += usage;
            }
        }
    }
    Ok(spent)
}

/// Writes records, one per line; an interrupted write leaves the old file.
pub(super) fn write_trajectories(path: &Path, trajectories: &[Trajectory]) -> io::Result<()> {
    let temporary = path.with_extension("jsonl.incomplete");
    let mut out = BufWriter::new(fs::File::create(&temporary)?);
    for trajectory in trajectories {
        serde_json::to_writer(&mut out, trajectory)?;
        out.write_all(b"\n")?;
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(temporary, path)
}

/// Writes the best passes of each task, from attempts that covered all of its graphs.
pub(super) fn write_best(directory: &Path, suite: &Suite, trajectories: &[Trajectory]) -> io::Result<()> {
    let sizes = suite.record.tasks.iter().map(|task| (task.id.as_str(), task.graphs.len()));
    let sizes: BTreeMap<&str, usize> = sizes.collect();
    // A course also makes attempts at single graphs. Their passes do not solve the whole task.
    let is_whole = |trajectory: &&Trajectory| {
        let graphs = trajectory.setup.task.visible.len() + trajectory.setup.task.held_out;
        !trajectory.passes.is_empty() && sizes.get(trajectory.setup.task.id.as_str()) == Some(&graphs)
    };
    let mut best: BTreeMap<&str, &Trajectory> = BTreeMap::new();
    for trajectory in trajectories.iter().filter(is_whole) {
        let place = best.entry(&trajectory.setup.task.id).or_insert(trajectory);
        if trajectory.score > place.score {
            *place = trajectory;
        }
    }
    if directory.exists() {
        // The folder is derived from the journals. Files of an earlier best would become part of the new one.
        fs::remove_dir_all(directory)?;
    }
    fs::create_dir_all(directory)?;
    for (task, trajectory) in best {
        fs::create_dir_all(directory.join(task))?;
        for (name, text) in &trajectory.passes {
            fs::write(directory.join(task).join(name), text)?;
        }
    }
    Ok(())
}
