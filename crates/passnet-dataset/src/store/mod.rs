//! The Parquet store: one row per graph, subgraph or task. `docs/dataset-schema.md` describes the columns.
//!
//! Rows keep the files of a sample verbatim, so that importing and exporting lose nothing; the other columns are
//! derived from them for queries. A file is written beside its place and renamed when complete, so a file that exists
//! is whole. Reading goes on behind a damaged row group.

mod annotation;
mod columns;
mod error;
mod reader;
mod result;
mod sample;
mod task;
mod trajectory;
mod writer;

pub use annotation::{Annotation, AnnotationRow, Assignment, Cast, KernelsRow, Literals, ValueMeta};
pub(crate) use columns::{Columns, strings};
pub use error::StoreError;
pub use reader::TableReader;
pub use result::ResultRow;
pub use sample::{Hashes, Input, Kind, Lineage, Origin, SampleFiles, SampleRow};
pub use task::TaskRow;
pub use trajectory::TrajectoryRow;
pub use writer::{MAX_ROW_GROUP_BYTES, TableWriter};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};

/// Version of the columns; the key `passnet.schema_version` of a file's metadata. Raised when a column changes its
/// meaning or goes away; a new column does not raise it.
pub const STORE_VERSION: u32 = 1;

/// Metadata keys of a file.
const VERSION_KEY: &str = "passnet.schema_version";
const TABLE_KEY: &str = "passnet.table";

/// A file that no column of its own is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Path below the sample or task folder, with `/` between its parts.
    pub name: String,
    /// Content, byte for byte.
    pub content: Vec<u8>,
}

/// What a row of a table is read as: all of it, or some of its columns; only these are read from the file.
pub trait View: Sized + Send {
    /// Name of the table's columns: the key `passnet.table` of a file's metadata.
    const TABLE: &'static str;

    /// Names and types of the columns.
    fn schema() -> Schema;

    /// Columns as rows. Unknown columns are ignored.
    ///
    /// # Errors
    /// What is missing or of another type, or which row is not what it says it is.
    fn decode(batch: &RecordBatch) -> Result<Vec<Self>, String>;
}

/// One row of a table, with all its columns.
pub trait Row: View {
    /// Rows as columns.
    ///
    /// # Errors
    /// If the columns do not fit the schema or exceed 2 GiB.
    fn encode(rows: &[Self]) -> Result<RecordBatch, ArrowError>;

    /// About how many bytes the row takes uncompressed.
    fn raw_bytes(&self) -> usize;
}
