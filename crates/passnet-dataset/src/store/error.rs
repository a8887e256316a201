use std::{io, path::PathBuf};

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

/// Error of reading or writing the store.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The footer of the file is damaged, or it is not a Parquet file. None of its rows can be read.
    #[error("{path}: not a readable Parquet file: {source}; restore it or write it again")]
    File {
        path: PathBuf,
        /// Error of the Parquet library.
        source: ParquetError,
    },
    /// The file belongs to another table, or has a later version.
    #[error("{path}: {message}")]
    Schema {
        path: PathBuf,
        /// Expected form and the form that was found.
        message: String,
    },
    /// A row group cannot be read. Others can be read.
    #[error("{path}: row group {row_group} (rows {first_row}..{end_row}) is damaged: {message}; its rows are left out")]
    RowGroup {
        path: PathBuf,
        /// Index of the row group.
        row_group: usize,
        /// Index of its first row.
        first_row: u64,
        /// Index after its last row.
        end_row: u64,
        /// Description of the problem.
        message: String,
    },
    /// Rows cannot be converted to columns.
    #[error("{path}: {source}")]
    Encode {
        path: PathBuf,
        /// Error of the Arrow library.
        source: ArrowError,
    },
    /// The columns cannot be written.
    #[error("{path}: {source}; the file was not written")]
    Write {
        path: PathBuf,
        /// Error of the Parquet library.
        source: ParquetError,
    },
}

impl TableError {
    /// Returns the file or folder that the error is about.
    pub fn path(&self) -> &std::path::Path {
        match self {
            Self::Io { path, .. }
            | Self::File { path, .. }
            | Self::Schema { path, .. }
            | Self::RowGroup { path, .. }
            | Self::Encode { path, .. }
            | Self::Write { path, .. } => path,
        }
    }
}
