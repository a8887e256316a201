//! The writer of a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_record::{ContentId, GraphId, PassDirectory, RunEvent, RunHeader, SourceFile, Verdict};

use super::{
    error::StoreError,
    header::same_run,
    reader::{LOG, PACKED_LOG, parse, unpacked},
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
    /// Begins a run, or continues with one that was begun under the same header.
    ///
    /// # Errors
    /// Where the run was begun with other settings, is being written to, or cannot be read.
    pub fn open(directory: &Path, header: &RunHeader) -> Result<Self, StoreError> {
        fs::create_dir_all(directory.join("blobs"))?;
        let lock = FileLock::try_acquire(&directory.join("lock"))?;
        let lock = lock.ok_or_else(|| StoreError::Locked { path: directory.to_owned() })?;
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

    /// Keeps the files of a task's passes, once.
    ///
    /// # Errors
    /// Where the disk refuses.
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
        Ok(put_blob(&self.directory, bytes)?)
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

/// Brings back the plain log of a finished run that is opened again.
fn unpack(directory: &Path) -> Result<(), StoreError> {
    let (plain, packed) = (directory.join(LOG), directory.join(PACKED_LOG));
    if !plain.exists() && packed.exists() {
        write_whole(&plain, &unpacked(&packed)?)?;
    }
    Ok(())
}
