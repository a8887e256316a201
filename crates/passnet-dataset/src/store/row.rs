//! Rows of a table and their columns, and the metadata keys of a file.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};

/// Version of the columns; the key `passnet.schema_version` of a file's metadata. Raised when a column changes its
/// meaning or is removed; a new column does not raise it.
pub const STORE_VERSION: u32 = 1;

/// Metadata keys of a file.
pub(super) const VERSION_KEY: &str = "passnet.schema_version";
pub(super) const TABLE_KEY: &str = "passnet.table";

/// A file that no column of its own is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Path below the sample or task folder, with `/` between its parts.
    pub name: String,
    /// Content, byte for byte.
    pub content: Vec<u8>,
}

/// Form in which a row of a table is read: all of it, or some of its columns. Only these are read from the file.
pub trait View: Sized + Send {
    /// Name of the table's columns: the key `passnet.table` of a file's metadata.
    const TABLE: &'static str;

    /// Names and types of the columns.
    fn schema() -> Schema;

    /// Columns as rows. Unknown columns are ignored.
    ///
    /// # Errors
    /// Names the column that is missing or has another type, or the row that is not consistent.
    fn decode(batch: &RecordBatch) -> Result<Vec<Self>, String>;
}

/// One row of a table, with all its columns.
pub trait Row: View {
    /// Returns the rows as columns.
    ///
    /// # Errors
    /// If the columns do not fit the schema or exceed 2 GiB.
    fn encode(rows: &[Self]) -> Result<RecordBatch, ArrowError>;

    /// About how many bytes the row takes uncompressed.
    fn raw_bytes(&self) -> usize;
}
