//! Replacement of files of a table by new files.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_record::ReplacementSteps;

use super::{
    checksums,
    files::{DAMAGED, PART, WAITING, part_number, part_path},
};
use crate::store::{Row, TableError, TableWriter};

/// Name of the file that lists the steps of a replacement while they are carried out.
const STEPS: &str = ".replacing.json";

/// New files and the files that they replace.
pub(crate) struct FileReplacement {
    folder: PathBuf,
    replaced: Vec<PathBuf>,
    /// Replaced files that are kept under another name, because some of their rows cannot be read.
    damaged: BTreeSet<PathBuf>,
}

impl FileReplacement {
    pub(super) fn new(folder: PathBuf, replaced: Vec<PathBuf>) -> Self {
        Self { folder, replaced, damaged: BTreeSet::new() }
    }

    /// Begins a new file.
    ///
    /// # Errors
    /// As [`TableWriter::create`].
    pub(crate) fn part<R: Row>(&self, number: u32) -> Result<TableWriter<R>, TableError> {
        TableWriter::create(&part_path(&self.folder, WAITING, number))
    }

    /// Keeps a damaged file next to the table, so that it can be repaired.
    pub(crate) fn keep_damaged(&mut self, part: &Path) {
        self.damaged.insert(part.to_owned());
    }

    /// Replaces the old files by the new files with these numbers, which are complete.
    ///
    /// # Errors
    /// If a file cannot be renamed or deleted. The next command that writes to the table then continues the replacement.
    pub(crate) fn finish(self, written: impl IntoIterator<Item = u32>) -> Result<(), TableError> {
        let numbers = |damaged: bool| -> Vec<u32> {
            let of_kind = self.replaced.iter().filter(|path| self.damaged.contains(*path) == damaged);
            of_kind.filter_map(|path| part_number(path)).collect()
        };
        let written: Vec<u32> = written.into_iter().collect();
        let mut removed = numbers(false);
        removed.retain(|number| !written.contains(number));
        let steps = ReplacementSteps { damaged: numbers(true), removed, written };
        // If nothing was written, the folder for the list of steps may not exist.
        if self.replaced.is_empty() && steps.written.is_empty() {
            return Ok(());
        }
        let path = self.folder.join(STEPS);
        let text = serde_json::to_vec(&steps).map_err(io::Error::from);
        text.and_then(|text| fs::write(&path, text)).map_err(|source| TableError::Io { path, source })?;
        resume(&self.folder)
    }
}

/// Completes a replacement that was interrupted. Does nothing if there is none.
pub(super) fn resume(folder: &Path) -> Result<(), TableError> {
    let list = folder.join(STEPS);
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| TableError::Io { path, source }
    };
    if !list.exists() {
        return Ok(());
    }
    // If the list is incomplete, the replacement had not begun.
    let Some(steps) = fs::read(&list).ok().and_then(|text| serde_json::from_slice::<ReplacementSteps>(&text).ok())
    else {
        return fs::remove_file(&list).map_err(failed(&list));
    };
    // The old checksums do not match the new files. They are removed first, so that an interrupted replacement does not look like
    // damage.
    checksums::forget(folder)?;
    let mut places = Vec::new();
    for number in steps.damaged {
        let (old, kept) = (part_path(folder, PART, number), part_path(folder, DAMAGED, number));
        // As long as a new file waits for its name, the file with that name is the old one.
        let is_old = part_path(folder, WAITING, number).exists() || !steps.written.contains(&number);
        if is_old && old.exists() {
            fs::rename(&old, &kept).map_err(failed(&old))?;
        }
    }
    for number in steps.written {
        let (new, place) = (part_path(folder, WAITING, number), part_path(folder, PART, number));
        if new.exists() {
            fs::rename(&new, &place).map_err(failed(&place))?;
        }
        places.push(place);
    }
    // Old files are deleted last, so that their rows stay on disk until the new files have their names.
    for number in steps.removed {
        let path = part_path(folder, PART, number);
        if path.exists() {
            fs::remove_file(&path).map_err(failed(&path))?;
        }
    }
    // The list of steps is deleted after everything else. As long as it exists, the next command repeats the steps, which is
    // safe.
    checksums::record(folder, &places)?;
    fs::remove_file(&list).map_err(failed(&list))
}
