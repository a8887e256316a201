//! Runs on disk.
//!
//! ```text
//! runs/<name>/
//!   run.jsonl        one event per line, only ever appended to
//!   run.jsonl.zst    the same, once the run is finished
//!   blobs/ab/cd...   files named by their content: passes, trial times, failed outputs
//!   lock             held by the one process that writes
//! ```
//!
//! The log is the truth. An event is one `write`; a verdict is on the disk before the next is begun. Whatever kills the
//! writer leaves at most one torn line at the end, which the next writer cuts off.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use fs_err as fs;
use passnet_record::{ContentId, GraphId, RunEvent, RunHeader, Verdict};
use rustix::fs::{FlockOperation, flock};

const LOG: &str = "run.jsonl";
const PACKED_LOG: &str = "run.jsonl.zst";

/// Why a run cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another process writes to the run.
    #[error("{path}: another process is writing to this run; wait for it or choose another run name")]
    Locked {
        /// Directory of the run.
        path: PathBuf,
    },
    /// The run was begun with other settings, another author, suite or machine.
    #[error(
        "{path}: this run was begun with {what} {before}, now it is {now}; choose another run name or go back to what it was"
    )]
    Mismatch {
        /// Directory of the run.
        path: PathBuf,
        /// The field of the header.
        what: String,
        /// Its value in the log.
        before: String,
        /// Its value now.
        now: String,
    },
    /// A complete line of the log is not an event.
    #[error("{path}:{line}:{column}: not an event of a run log: {message}")]
    Malformed {
        /// The log.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// There is no log, or it is empty.
    #[error("{path}: no run is recorded here")]
    Missing {
        /// Directory of the run.
        path: PathBuf,
    },
}

/// What a run log says.
#[derive(Clone, Debug)]
pub struct RunLog {
    /// The first header.
    pub header: RunHeader,
    /// All events in order.
    pub events: Vec<RunEvent>,
    /// Whether the last event is `finished`.
    pub finished: bool,
}

impl RunLog {
    /// Reads the log of a run directory, plain or compressed. A torn last line is left out.
    ///
    /// # Errors
    /// Where there is no run, or a complete line is not an event.
    pub fn read(directory: &Path) -> Result<Self, StoreError> {
        let missing = || StoreError::Missing { path: directory.to_owned() };
        let (path, bytes) = match fs::read(directory.join(LOG)) {
            Ok(bytes) => (directory.join(LOG), bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let path = directory.join(PACKED_LOG);
                match fs::read(&path) {
                    Ok(packed) => (path, zstd::decode_all(packed.as_slice())?),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        };
        Self::parse(&path, &bytes)
    }

    /// Reads the text of a log. `path` is for messages.
    ///
    /// # Errors
    /// Where a complete line is not an event, or none says how the run began.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, StoreError> {
        let missing = || StoreError::Missing { path: path.to_owned() };
        let (events, _) = parse(path, bytes)?;
        let header = events.iter().find_map(|event| match event {
            RunEvent::Started(header) => Some(header.as_ref().clone()),
            _ => None,
        });
        let finished = matches!(events.last(), Some(RunEvent::Finished { .. }));
        Ok(Self { header: header.ok_or_else(missing)?, events, finished })
    }

    /// The verdicts, one per graph, in the order in which they were first reached; where a graph has several, the last.
    pub fn verdicts(&self) -> Vec<&Verdict> {
        let mut place = BTreeMap::new();
        let mut verdicts: Vec<&Verdict> = Vec::new();
        for event in &self.events {
            if let RunEvent::Verdict(verdict) = event {
                match place.get(&verdict.id) {
                    Some(&index) => verdicts[index] = verdict.as_ref(),
                    None => {
                        place.insert(&verdict.id, verdicts.len());
                        verdicts.push(verdict);
                    }
                }
            }
        }
        verdicts
    }
}

/// The events of a log, and the length of the part that consists of complete lines.
fn parse(path: &Path, bytes: &[u8]) -> Result<(Vec<RunEvent>, usize), StoreError> {
    let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    let lines = bytes[..complete].split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let events = lines.map(|(index, line)| {
        serde_json::from_slice(line).map_err(|error| StoreError::Malformed {
            path: path.to_owned(),
            line: index + 1,
            column: error.column().max(1),
            message: error.to_string(),
        })
    });
    Ok((events.collect::<Result<_, _>>()?, complete))
}

/// The right to write to a run; dropping it lets the next writer in.
#[derive(Debug)]
struct WriterLock(File);

impl WriterLock {
    fn take(directory: &Path) -> Result<Self, StoreError> {
        let file = File::options().create(true).truncate(false).write(true).open(directory.join("lock"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StoreError::Locked { path: directory.to_owned() }),
            Err(errno) => Err(io::Error::from(errno).into()),
        }
    }
}

impl Drop for WriterLock {
    /// Unlocks by name: a child between `fork` and `exec` shares the open file, so closing it here alone would leave the
    /// run locked until that child is done.
    fn drop(&mut self) {
        // Unlocking an open file cannot fail in a way that closing it would not mend.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// A run that this process writes to.
#[derive(Debug)]
pub struct RunStore {
    directory: PathBuf,
    log: File,
    _lock: WriterLock,
    verdicts: BTreeMap<ContentId, Vec<Verdict>>,
    passes: BTreeSet<(String, ContentId)>,
}

impl RunStore {
    /// Begins a run, or goes on with one that was begun under the same header.
    ///
    /// # Errors
    /// Where the run was begun with other settings, is being written to, or cannot be read.
    pub fn open(directory: &Path, header: &RunHeader) -> Result<Self, StoreError> {
        fs::create_dir_all(directory.join("blobs"))?;
        let lock = WriterLock::take(directory)?;
        let path = directory.join(LOG);
        unpack(directory)?;
        let mut log = File::options().create(true).truncate(false).read(true).write(true).open(&path)?;
        let mut bytes = Vec::new();
        log.read_to_end(&mut bytes)?;
        let (events, complete) = parse(&path, &bytes)?;
        log.set_len(complete as u64)?;
        log.seek(SeekFrom::End(0))?;

        let (mut verdicts, mut passes) = (BTreeMap::<_, Vec<_>>::new(), BTreeSet::new());
        for event in events {
            match event {
                RunEvent::Started(before) => same_run(directory, &before, header)?,
                RunEvent::Verdict(verdict) => verdicts.entry(verdict.key.clone()).or_default().push(*verdict),
                RunEvent::Passes { task, id, .. } => drop(passes.insert((task, id))),
                RunEvent::Finished { .. } => {}
            }
        }
        let mut store = Self { directory: directory.to_owned(), log, _lock: lock, verdicts, passes };
        store.append(&RunEvent::Started(Box::new(header.clone())))?;
        Ok(store)
    }

    /// A verdict with this content key, if the run already has one: that of the graph itself, else that of an equal
    /// graph elsewhere in the suite.
    pub fn verdict(&self, key: &ContentId, id: &GraphId) -> Option<&Verdict> {
        let verdicts = self.verdicts.get(key)?;
        verdicts.iter().find(|verdict| verdict.id == *id).or(verdicts.first())
    }

    /// Whether a task's pass directory has been recorded.
    pub fn has_passes(&self, task: &str, id: &ContentId) -> bool {
        self.passes.contains(&(task.to_owned(), id.clone()))
    }

    /// Appends an event: one write, and for a verdict the promise of the disk.
    ///
    /// # Errors
    /// Where the disk refuses.
    pub fn append(&mut self, event: &RunEvent) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(event).map_err(io::Error::from)?;
        line.push(b'\n');
        self.log.write_all(&line)?;
        match event {
            RunEvent::Verdict(verdict) => {
                self.log.sync_data()?;
                self.verdicts.entry(verdict.key.clone()).or_default().push(verdict.as_ref().clone());
            }
            RunEvent::Passes { task, id, .. } => drop(self.passes.insert((task.clone(), id.clone()))),
            RunEvent::Started(_) | RunEvent::Finished { .. } => {}
        }
        Ok(())
    }

    /// Keeps some bytes under their content's name.
    ///
    /// # Errors
    /// Where the disk refuses.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<ContentId, StoreError> {
        put_blob(&self.directory, bytes)
    }

    /// Appends `finished`, then replaces the log by its compressed form.
    ///
    /// # Errors
    /// Where the disk refuses.
    pub fn finish(mut self, wall_ns: u64) -> Result<(), StoreError> {
        self.append(&RunEvent::Finished { at: now_rfc3339(), wall_ns })?;
        self.log.sync_data()?;
        let plain = self.directory.join(LOG);
        let packed = zstd::encode_all(File::open(&plain)?, 9)?;
        write_whole(&self.directory.join(PACKED_LOG), &packed)?;
        Ok(fs::remove_file(plain)?)
    }
}

/// Removes the run in a directory, if there is one; anything else in its place is left alone.
///
/// # Errors
/// Where the system refuses.
pub fn remove_run(directory: &Path) -> Result<(), StoreError> {
    if directory.join(LOG).exists() || directory.join(PACKED_LOG).exists() {
        fs::remove_dir_all(directory)?;
    }
    Ok(())
}

/// Directory and file of a blob below a run directory.
pub fn blob_path(directory: &Path, id: &ContentId) -> PathBuf {
    let (first, rest) = id.as_str().split_at_checked(2).unwrap_or(("", id.as_str()));
    directory.join("blobs").join(first).join(rest)
}

fn put_blob(directory: &Path, bytes: &[u8]) -> Result<ContentId, StoreError> {
    let id = ContentId::of(bytes);
    let path = blob_path(directory, &id);
    if !path.exists() {
        write_whole(&path, bytes)?;
    }
    Ok(id)
}

/// Writes a file such that it exists whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let mut file = tempfile::NamedTempFile::new_in(parent)?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Brings back the plain log of a finished run that is opened again.
fn unpack(directory: &Path) -> Result<(), StoreError> {
    let (plain, packed) = (directory.join(LOG), directory.join(PACKED_LOG));
    if !plain.exists() && packed.exists() {
        write_whole(&plain, &zstd::decode_all(File::open(&packed)?)?)?;
    }
    Ok(())
}

/// Compares what makes two parts of a run comparable: everything but the time of the start.
fn same_run(directory: &Path, before: &RunHeader, now: &RunHeader) -> Result<(), StoreError> {
    let flat = |header: &RunHeader| {
        let mut value = serde_json::to_value(header).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("started");
        }
        let mut fields = BTreeMap::new();
        flatten("", &value, &mut fields);
        fields
    };
    let (before, now) = (flat(before), flat(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    for name in names {
        let of = |fields: &BTreeMap<String, String>| fields.get(name).cloned().unwrap_or_else(|| "nothing".to_owned());
        if before.get(name) != now.get(name) {
            let (path, what) = (directory.to_owned(), name.clone());
            return Err(StoreError::Mismatch { path, what, before: of(&before), now: of(&now) });
        }
    }
    Ok(())
}

/// Lists the leaves of a JSON value by dotted path.
fn flatten(path: &str, value: &serde_json::Value, fields: &mut BTreeMap<String, String>) {
    match value {
        serde_json::Value::Object(object) => {
            for (name, value) in object {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, fields);
            }
        }
        leaf => drop(fields.insert(path.to_owned(), leaf.to_string())),
    }
}

/// The present time, UTC, to the second.
pub fn now_rfc3339() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    rfc3339(seconds)
}

fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days to civil date, with years that begin in March so that the leap day is the last.
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests;
