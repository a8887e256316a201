//! A dataset on disk: a folder that contains one folder of Parquet files for each table.

mod checksums;
mod files;
mod leftovers;
mod replacement;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use fs_err as fs;

use self::files::{PART, WAITING, part_path};
pub(crate) use self::{files::part_number, replacement::FileReplacement};
use crate::store::{Row, TableError, TableReader, TableWriter, View};

/// A table of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Whole graphs; rows are [`crate::store::SampleRow`].
    Graphs,
    /// Parts of graphs; rows are [`crate::store::SampleRow`].
    Subgraphs,
    /// Tasks; rows are [`crate::store::TaskRow`].
    Tasks,
    /// Facts about the values of whole graphs; rows are [`crate::store::AnnotationRow`].
    Annotations,
    /// Kernel counts of prefixes of subgraphs; rows are [`crate::store::KernelsRow`].
    Kernels,
    /// Results of running graphs; rows are [`crate::suite::ProofResult`].
    Proofs,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 6] =
        [Self::Graphs, Self::Subgraphs, Self::Tasks, Self::Annotations, Self::Kernels, Self::Proofs];

    /// Returns the name of the table's folder.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Graphs => "graphs",
            Self::Subgraphs => "subgraphs",
            Self::Tasks => "tasks",
            Self::Annotations => "annotations",
            Self::Kernels => "kernels",
            Self::Proofs => "proofs",
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Approximate size of a file in bytes before encoding. An interrupted stage loses at most one file.
const PART_BYTES: usize = 512 << 20;

/// A folder with tables.
#[derive(Clone, Debug)]
pub struct Dataset {
    root: PathBuf,
}

impl Dataset {
    /// Returns the dataset at `root`. The folder may not exist yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the folder of the dataset.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the name of the folder, which is the name of a suite.
    pub fn name(&self) -> String {
        self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Returns the dataset in the folder `name` of this one.
    pub fn below(&self, name: &str) -> Self {
        Self::at(self.root.join(name))
    }

    /// Returns the files of a table in order; none if the table does not exist.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn parts(&self, table: Table) -> Result<Vec<PathBuf>, TableError> {
        let folder = self.root.join(table.name());
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let io = |source| TableError::Io { path: folder.clone(), source };
        let mut parts = Vec::new();
        for entry in fs::read_dir(&folder).map_err(io)? {
            let path = entry.map_err(io)?.path();
            if part_number(&path).is_some() {
                parts.push(path);
            }
        }
        parts.sort_unstable_by_key(|path| part_number(path));
        Ok(parts)
    }

    /// Returns all rows of a table in order. Each damaged file or row group gives one error, and reading continues after
    /// it.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn read<R: View + 'static>(
        &self,
        table: Table,
    ) -> Result<impl Iterator<Item = Result<R, TableError>> + Send + use<R>, TableError> {
        Ok(self.parts(table)?.into_iter().flat_map(|part| rows_of(&part)))
    }

    /// Returns the number of rows of a table, according to the footers of its files. A file that cannot be read counts as empty.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn rows<R: View>(&self, table: Table) -> Result<u64, TableError> {
        let rows = |part: &PathBuf| TableReader::<R>::open(part).map_or(0, |reader| reader.rows());
        Ok(self.parts(table)?.iter().map(rows).sum())
    }

    /// Adds rows after the existing rows of a table.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn append<R: Row>(&self, table: Table) -> Result<PartWriter<R>, TableError> {
        leftovers::clear(&self.root.join(table.name()))?;
        // Numbered after the last file, because the number of files is lower if a file was removed.
        let next = self.parts(table)?.last().and_then(|part| part_number(part)).map_or(0, |last| last + 1);
        let folder = self.root.join(table.name());
        Ok(PartWriter { folder, first: next, next, current: None, replaces: None, publish: false })
    }

    /// Replaces a table. Its old rows stay readable until the writer finishes.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn replace<R: Row>(&self, table: Table) -> Result<PartWriter<R>, TableError> {
        let replaces = Some(self.replacement(table)?);
        let folder = self.root.join(table.name());
        Ok(PartWriter { folder, first: 0, next: 0, current: None, replaces, publish: false })
    }

    /// Replaces a table, writing its files from several threads.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(crate) fn replacement(&self, table: Table) -> Result<FileReplacement, TableError> {
        let folder = self.root.join(table.name());
        leftovers::clear(&folder)?;
        Ok(FileReplacement::new(folder, self.parts(table)?))
    }

    /// Returns the files of a table whose bytes have changed since they were written, according to the checksums next to them.
    /// Files without a checksum are not returned.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn find_altered(&self, table: Table) -> Result<Vec<PathBuf>, TableError> {
        checksums::find_altered(&self.root.join(table.name()), &self.parts(table)?)
    }
}

/// Returns all rows of one file. If the file cannot be opened, the error is the only item.
pub(crate) fn rows_of<R: View + 'static>(part: &Path) -> Box<dyn Iterator<Item = Result<R, TableError>> + Send> {
    match TableReader::open(part) {
        Ok(reader) => Box::new(reader),
        Err(error) => Box::new(std::iter::once(Err(error))),
    }
}

/// Writes rows into as many files as necessary.
pub struct PartWriter<R: Row> {
    folder: PathBuf,
    /// Number of the first new file.
    first: u32,
    next: u32,
    current: Option<(TableWriter<R>, usize)>,
    /// Files that the new files replace; `None` if rows are added.
    replaces: Option<FileReplacement>,
    publish: bool,
}

impl<R: Row> PartWriter<R> {
    /// Compresses more strongly, for files that people download. Files for the next stage are compressed faster.
    pub fn published(mut self) -> Self {
        self.publish = true;
        self
    }

    /// Keeps a damaged file next to the table when it is replaced, so that it can be repaired.
    pub(crate) fn keep_damaged(&mut self, part: &Path) {
        if let Some(replaces) = &mut self.replaces {
            replaces.keep_damaged(part);
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// As [`TableWriter`].
    pub fn push(&mut self, row: R) -> Result<(), TableError> {
        let bytes = row.raw_bytes();
        // Checked before the row is written, so that a single row larger than the limit still fits in a file.
        if self.current.as_ref().is_some_and(|(_, written)| written + bytes > PART_BYTES) {
            self.finish_part()?;
        }
        let (writer, written) = match &mut self.current {
            Some(current) => current,
            None => {
                // Readers read only files that are named as parts, so a replacement is invisible until it is complete.
                let prefix = if self.replaces.is_some() { WAITING } else { PART };
                let path = part_path(&self.folder, prefix, self.next);
                let writer = if self.publish { TableWriter::publish(&path) } else { TableWriter::create(&path) };
                self.current.insert((writer?, 0))
            }
        };
        *written += bytes;
        writer.push(row)
    }

    /// Completes the last file. If the writer replaces files, the new files take their place.
    ///
    /// # Errors
    /// As [`TableWriter::finish`].
    pub fn finish(mut self) -> Result<(), TableError> {
        self.finish_part()?;
        match self.replaces.take() {
            Some(replaces) => replaces.finish(0..self.next),
            None => {
                let written: Vec<PathBuf> =
                    (self.first..self.next).map(|number| part_path(&self.folder, PART, number)).collect();
                checksums::record(&self.folder, &written)
            }
        }
    }

    fn finish_part(&mut self) -> Result<(), TableError> {
        if let Some((writer, _)) = self.current.take() {
            writer.finish()?;
            self.next += 1;
        }
        Ok(())
    }
}
