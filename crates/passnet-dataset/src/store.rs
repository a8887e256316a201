//! The Parquet store: one row per graph, subgraph or task. `docs/reference/dataset-schema.md` describes the columns.
//!
//! Rows contain the files of a sample verbatim, so that import and export lose nothing. The other columns are derived from the
//! files for queries. A file is written under a temporary name and renamed when it is complete, so a file of a table is always
//! complete. After a damaged row group, reading continues with the next one.

mod annotation;
mod columns;
mod error;
mod reader;
mod result;
mod row;
mod sample;
mod task;
mod trajectory;
mod writer;

pub use annotation::{AnnotationRow, KernelsRow};
pub(crate) use columns::{Columns, strings};
pub use error::TableError;
pub use passnet_record::services::{Annotation, Cast, ExtentAssignment, Literals, ValueMeta};
pub use reader::TableReader;
pub use result::{ResultRow, csv};
pub use row::{NamedFile, Row, STORE_VERSION, View};
pub use sample::{GraphKind, Hashes, Input, Lineage, SampleFiles, SampleRow, SubgraphOrigin};
pub use task::TaskRow;
pub use trajectory::TrajectoryRow;
pub(crate) use writer::INCOMPLETE;
pub use writer::{MAX_ROW_GROUP_BYTES, TableWriter};
