use std::{
    io,
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::Arc,
};

use fs_err as fs;
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    errors::ParquetError,
    file::{metadata::KeyValue, properties::WriterProperties},
    schema::types::ColumnPath,
};
use tempfile::NamedTempFile;

use super::{
    error::TableError,
    row::{Row, STORE_VERSION, TABLE_KEY, VERSION_KEY},
};

/// Largest number of bytes of a row group before encoding (a single row may exceed it). Readers that load whole row groups into
/// memory, such as the viewer of a data set host, can then read the file.
pub const MAX_ROW_GROUP_BYTES: usize = 128 << 20;

/// Prefix of the name of a file that is being written.
pub(crate) const INCOMPLETE: &str = ".incomplete-";

/// Number of bytes of rows that are converted to columns at once.
const BATCH_BYTES: usize = 16 << 20;

/// Zstandard levels. Stages write files for other stages, and level 9 would take half of their time. Published files are written
/// once, and level 9 saves 15 % of their size. Reading takes the same time for both.
const ZSTD_LEVEL: i32 = 3;
const PUBLISHED_ZSTD_LEVEL: i32 = 9;

/// Writes one Parquet file row by row in bounded memory.
///
/// The file appears at its path when [`Self::finish`] succeeds. Until then, or if the writer is dropped, there is only a
/// temporary file, which is deleted later.
pub struct TableWriter<R: Row> {
    path: PathBuf,
    writer: ArrowWriter<NamedTempFile>,
    pending: Vec<R>,
    pending_bytes: usize,
    row_group_bytes: usize,
    max_row_group_bytes: usize,
    row: PhantomData<R>,
}

impl<R: Row> TableWriter<R> {
    /// Begins a file at `path`. Its folder is created if it does not exist.
    ///
    /// # Errors
    /// If the folder or a temporary file in it cannot be created.
    pub fn create(path: &Path) -> Result<Self, TableError> {
        Self::with_row_group_bytes(path, MAX_ROW_GROUP_BYTES)
    }

    /// Creates a file like [`Self::create`], compressed more strongly for downloads.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn publish(path: &Path) -> Result<Self, TableError> {
        Self::begin(path, MAX_ROW_GROUP_BYTES, PUBLISHED_ZSTD_LEVEL)
    }

    /// Creates a file like [`Self::create`], with smaller row groups.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn with_row_group_bytes(path: &Path, max_row_group_bytes: usize) -> Result<Self, TableError> {
        Self::begin(path, max_row_group_bytes, ZSTD_LEVEL)
    }

    fn begin(path: &Path, max_row_group_bytes: usize, zstd_level: i32) -> Result<Self, TableError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let io = |source| TableError::Io { path: path.to_owned(), source };
        fs::create_dir_all(folder).map_err(io)?;
        // In the same folder, because a file can only be renamed within one file system.
        let file = NamedTempFile::with_prefix_in(INCOMPLETE, folder).map_err(io)?;
        // The lock marks the file as in use, so that no command removes it as a leftover. On file systems without locks,
        // leftovers are not removed.
        let _ = file.as_file().try_lock();
        let metadata = vec![
            KeyValue::new(VERSION_KEY.to_owned(), STORE_VERSION.to_string()),
            KeyValue::new(TABLE_KEY.to_owned(), R::TABLE.to_owned()),
        ];
        let level = ZstdLevel::try_new(zstd_level).unwrap_or_default();
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_key_value_metadata(Some(metadata))
            .set_max_row_group_row_count(None);
        // Whole files are rarely equal, so a dictionary of them would need memory and save nothing.
        for field in R::schema().fields().iter().filter(|field| field.name().ends_with("_py")) {
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(field.name().as_str()), false);
        }
        let writer = ArrowWriter::try_new(file, Arc::new(R::schema()), Some(properties.build()))
            .map_err(|source| TableError::Write { path: path.to_owned(), source })?;
        let path = path.to_owned();
        Ok(Self {
            path,
            writer,
            pending: Vec::new(),
            pending_bytes: 0,
            row_group_bytes: 0,
            max_row_group_bytes,
            row: PhantomData,
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If the disk is full or a column exceeds its type.
    pub fn push(&mut self, row: R) -> Result<(), TableError> {
        let bytes = row.raw_bytes();
        // Checked before the row is added, so that only a single large row can exceed the limit.
        if self.row_group_bytes + self.pending_bytes + bytes > self.max_row_group_bytes {
            self.write_pending()?;
            self.writer.flush().map_err(|source| self.write_error(source))?;
            self.row_group_bytes = 0;
        }
        self.pending.push(row);
        self.pending_bytes += bytes;
        if self.pending_bytes > BATCH_BYTES {
            self.write_pending()?;
        }
        Ok(())
    }

    /// Completes the file and moves it to its path. An existing file is replaced.
    ///
    /// # Errors
    /// If the disk is full or the path cannot be written. An existing file then stays.
    pub fn finish(mut self) -> Result<(), TableError> {
        self.write_pending()?;
        let Self { path, writer, .. } = self;
        let file = writer.into_inner().map_err(|source| TableError::Write { path: path.clone(), source })?;
        let place = |file: NamedTempFile| -> io::Result<()> {
            // The content is flushed before the rename: after a power failure, a file with its final name must be complete.
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        place(file).map_err(|source| TableError::Io { path: path.clone(), source })
    }

    fn write_pending(&mut self) -> Result<(), TableError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let batch =
            R::encode(&self.pending).map_err(|source| TableError::Encode { path: self.path.clone(), source })?;
        self.writer.write(&batch).map_err(|source| self.write_error(source))?;
        self.pending.clear();
        self.row_group_bytes += std::mem::take(&mut self.pending_bytes);
        Ok(())
    }

    fn write_error(&self, source: ParquetError) -> TableError {
        TableError::Write { path: self.path.clone(), source }
    }
}
