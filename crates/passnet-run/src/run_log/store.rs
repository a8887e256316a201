//! The writer of a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use fs_err as fs;
use passnet_record::{ContentId, GraphId, PassDirectory, RunEvent, RunHeader, SourceFile, Verdict};

use super::{
    error::StoreError,
    header::same_run,
    reader::{LOG, PACKED_LOG, parse, read_packed},
};
use crate::{
    FileLock,
    blob::{put_blob, write_whole},
    now_rfc3339,
};

/// A run that this process writes to.
#[derive(Debug)]
pub struct RunStore {
    directory: PathBuf,
    log: File,
    _lock: FileLock,
    verdicts: BTreeMap<ContentId, Vec<Verdict>>,
    passes: BTreeSet<(String, ContentId)>,
}

impl RunStore {
    /// Begins a run, or continues one that has the same header.
    ///
    /// # Errors
    /// If the run was started with other settings, another process writes to it, or it cannot be read.
    pub fn open(directory: &Path, header: &RunHeader) -> Result<Self, StoreError> {
        fs::create_dir_all(directory.join("blobs"))?;
        // The lock comes first: everything below may change the log.
        let lock = lock_of(directory)?;
        let lock = lock.ok_or_else(|| StoreError::Locked { path: directory.to_owned() })?;
        let path = directory.join(LOG);
        unpack(directory)?;
        let mut log = File::options().create(true).truncate(false).read(true).write(true).open(&path)?;
        let mut bytes = Vec::new();
        log.read_to_end(&mut bytes)?;
        let (events, complete) = parse(&path, &bytes)?;
        // A writer that was killed may have left an incomplete line. An event after an incomplete line would make the line malformed, and
        // then the whole log could not be read.
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
        // Each start adds a header, which has the time of the start and may correct the description for boards.
        store.append(&RunEvent::Started(Box::new(header.clone())))?;
        Ok(store)
    }

    /// Returns a verdict with this content key, if the run has one. The verdict of the graph itself is preferred to that of an equal
    /// graph elsewhere in the suite.
    pub fn verdict(&self, key: &ContentId, id: &GraphId) -> Option<&Verdict> {
        let verdicts = self.verdicts.get(key)?;
        verdicts.iter().find(|verdict| verdict.id == *id).or(verdicts.first())
    }

    /// Stores the files of a task's passes as blobs and appends an event that names them. Each directory is recorded once.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn record_passes(&mut self, task: &str, passes: &PassDirectory) -> Result<(), StoreError> {
        if self.passes.contains(&(task.to_owned(), passes.id().clone())) {
            return Ok(());
        }
        let file = |(path, bytes): &(String, Vec<u8>)| {
            self.put_blob(bytes).map(|blob| SourceFile { path: path.clone(), blob })
        };
        let files = passes.files().iter().map(file).collect::<Result<_, _>>()?;
        self.append(&RunEvent::Passes { task: task.to_owned(), id: passes.id().clone(), files })
    }

    /// Appends an event with one write. A verdict is also synchronised to disk.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(&mut self, event: &RunEvent) -> Result<(), StoreError> {
        // One buffer and one write, so that a killed writer leaves at most one incomplete line.
        let mut line = serde_json::to_vec(event).map_err(io::Error::from)?;
        line.push(b'\n');
        self.log.write_all(&line)?;
        match event {
            // Only verdicts are synchronised, because each one takes seconds of measurement. The next start writes all other events
            // again.
            RunEvent::Verdict(verdict) => {
                self.log.sync_data()?;
                // The verdict is entered only after it is on disk, because an equal graph that finds it here is not evaluated again.
                self.verdicts.entry(verdict.key.clone()).or_default().push(verdict.as_ref().clone());
            }
            RunEvent::Passes { task, id, .. } => drop(self.passes.insert((task.clone(), id.clone()))),
            RunEvent::Started(_) | RunEvent::Finished { .. } => {}
        }
        Ok(())
    }

    /// Stores bytes as a blob and returns its id.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<ContentId, StoreError> {
        Ok(put_blob(&self.directory, bytes)?)
    }

    /// Appends `finished`, then replaces the log by its compressed form.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self, wall_ns: u64) -> Result<(), StoreError> {
        self.append(&RunEvent::Finished { at: now_rfc3339(), wall_ns })?;
        self.log.sync_data()?;
        let plain = self.directory.join(LOG);
        let packed = zstd::encode_all(File::open(&plain)?, 9)?;
        // The compressed log is complete before the plain log is removed. A process that is killed in between leaves both, and readers
        // prefer the plain log.
        write_whole(&self.directory.join(PACKED_LOG), &packed)?;
        Ok(fs::remove_file(plain)?)
    }
}

/// Acquires the lock of a run; `None` while another process writes it.
fn lock_of(directory: &Path) -> io::Result<Option<FileLock>> {
    let path = directory.join("lock");
    match FileLock::try_acquire(&path)? {
        Some(lock) => Ok(Some(lock)),
        // A live page that checks whether the run is being written holds the lock for some microseconds.
        None => {
            thread::sleep(Duration::from_millis(50));
            FileLock::try_acquire(&path)
        }
    }
}

/// Removes a run directory with everything in it. A directory without a run log is left alone.
///
/// # Errors
/// If the file system reports an error.
pub fn remove_run(directory: &Path) -> Result<(), StoreError> {
    if directory.join(LOG).exists() || directory.join(PACKED_LOG).exists() {
        fs::remove_dir_all(directory)?;
    }
    Ok(())
}

/// Restores the plain log of a finished run when the run is opened again.
fn unpack(directory: &Path) -> Result<(), StoreError> {
    let (plain, packed) = (directory.join(LOG), directory.join(PACKED_LOG));
    if !plain.exists() && packed.exists() {
        write_whole(&plain, &read_packed(&packed)?)?;
    }
    Ok(())
}
