//! Rows of a table and their columns, and the metadata keys of a file.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};

/// Version of the columns, stored in the key `passnet.schema_version` of a file's metadata. It is raised when a column changes
/// its meaning or is removed. A new column does not raise it.
pub const STORE_VERSION: u32 = 1;

/// Metadata keys of a file.
pub(super) const VERSION_KEY: &str = "passnet.schema_version";
pub(super) const TABLE_KEY: &str = "passnet.table";

/// A file that has no column of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Path below the sample or task folder, with `/` between its parts.
    pub name: String,
    /// Content, byte for byte.
    pub content: Vec<u8>,
}

/// Form in which a row of a table is read: all or some of its columns. Only these columns are read from the file.
pub trait View: Sized + Send {
    /// Name of the table, stored in the key `passnet.table` of a file's metadata.
    const TABLE: &'static str;

    /// Names and types of the columns.
    fn schema() -> Schema;

    /// Converts columns to rows. Unknown columns are ignored.
    ///
    /// # Errors
    /// A text that names the column that is missing or has another type, or the row that is inconsistent.
    fn decode(batch: &RecordBatch) -> Result<Vec<Self>, String>;
}

/// One row of a table, with all its columns.
pub trait Row: View {
    /// Converts rows to columns.
    ///
    /// # Errors
    /// If the columns do not match the schema or exceed 2 GiB.
    fn encode(rows: &[Self]) -> Result<RecordBatch, ArrowError>;

    /// Returns the approximate uncompressed size of the row in bytes.
    fn raw_bytes(&self) -> usize;
}
