//! Sorts more rows by path than fit in memory: sorted files are written and then merged.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    path::{Path, PathBuf},
};

use fs_err as fs;
use tempfile::TempDir;

use crate::store::{Row, SampleRow, TableError, TableReader, TableWriter};

/// Size in bytes, before encoding, of the rows that stay in memory.
const MEMORY: usize = 256 << 20;

/// Sorter of rows, in bounded memory. Paths must be distinct.
pub(crate) struct Sorter {
    folder: PathBuf,
    /// Folder of the sorted files. It is created when it is needed and deleted with the sorter.
    scratch: Option<TempDir>,
    /// Sorted files.
    runs: Vec<PathBuf>,
    pending: Vec<SampleRow>,
    pending_bytes: usize,
    memory: usize,
}

/// Sorted rows.
pub(crate) type Sorted = Box<dyn Iterator<Item = Result<SampleRow, TableError>>>;

impl Sorter {
    /// Creates a sorter that writes its files to a folder below `folder`. `folder` is created if it does not exist.
    pub(crate) fn new(folder: &Path) -> Self {
        Self::with_memory(folder, MEMORY)
    }

    fn with_memory(folder: &Path, memory: usize) -> Self {
        let (runs, pending) = (Vec::new(), Vec::new());
        Self { folder: folder.to_owned(), scratch: None, runs, pending, pending_bytes: 0, memory }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn push(&mut self, row: SampleRow) -> Result<(), TableError> {
        self.pending_bytes += row.raw_bytes();
        self.pending.push(row);
        if self.pending_bytes > self.memory { self.write_run() } else { Ok(()) }
    }

    /// Returns all rows in the order of their paths.
    ///
    /// # Errors
    /// If a file cannot be written or read.
    pub(crate) fn finish(mut self) -> Result<Sorted, TableError> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(Box::new(self.pending.into_iter().map(Ok)));
        }
        self.write_run()?;
        let readers = self.runs.iter().map(|run| TableReader::open(run)).collect::<Result<_, _>>()?;
        let mut merge = Merge { readers, heads: Vec::new(), order: BinaryHeap::new(), _scratch: self.scratch };
        for run in 0..merge.readers.len() {
            merge.heads.push(None);
            merge.refill(run)?;
        }
        Ok(Box::new(merge))
    }

    fn sort(&mut self) {
        self.pending.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }

    fn write_run(&mut self) -> Result<(), TableError> {
        self.sort();
        self.pending_bytes = 0;
        let scratch = match &self.scratch {
            Some(scratch) => scratch,
            None => self.scratch.insert(scratch_in(&self.folder)?),
        };
        let path = scratch.path().join(format!("{}.parquet", self.runs.len()));
        let mut writer = TableWriter::create(&path)?;
        self.pending.drain(..).try_for_each(|row| writer.push(row))?;
        writer.finish()?;
        self.runs.push(path);
        Ok(())
    }
}

fn scratch_in(folder: &Path) -> Result<TempDir, TableError> {
    let io = |source| TableError::Io { path: folder.to_owned(), source };
    fs::create_dir_all(folder).map_err(io)?;
    tempfile::Builder::new().prefix(".incomplete-").tempdir_in(folder).map_err(io)
}

/// Merges the rows of several sorted files into one order.
struct Merge {
    readers: Vec<TableReader<SampleRow>>,
    /// The next row of each file.
    heads: Vec<Option<SampleRow>>,
    /// Paths of the heads, the smallest first, with the numbers of their files.
    order: BinaryHeap<Reverse<(String, usize)>>,
    /// Folder of the sorted files, which is deleted when all rows are read.
    _scratch: Option<TempDir>,
}

impl Merge {
    fn refill(&mut self, run: usize) -> Result<(), TableError> {
        self.heads[run] = self.readers[run].next().transpose()?;
        // The heap holds only paths, because rows contain files and would be moved at each step.
        self.order.extend(self.heads[run].as_ref().map(|row| Reverse((row.path.clone(), run))));
        Ok(())
    }
}

impl Iterator for Merge {
    type Item = Result<SampleRow, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((_, run)) = self.order.pop()?;
        let row = self.heads[run].take()?;
        Some(self.refill(run).map(|()| row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_sorted_and_files_go() {
        let folder = tempfile::tempdir().unwrap();
        for memory in [MEMORY, 100, 0] {
            let mut sorter = Sorter::with_memory(folder.path(), memory);
            for index in [5, 3, 9, 1, 7, 0, 8, 2, 6, 4] {
                let mut row = SampleRow { path: format!("p{index}"), ..SampleRow::default() };
                row.files.insert("model.py".to_owned(), vec![b'x'; 40]);
                sorter.push(row).unwrap();
            }
            let paths: Vec<String> = sorter.finish().unwrap().map(|row| row.unwrap().path).collect();
            assert_eq!(paths, (0..10).map(|index| format!("p{index}")).collect::<Vec<_>>());
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}
