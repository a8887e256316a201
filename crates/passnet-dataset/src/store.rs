//! The Parquet store: one row per graph, subgraph or task. `docs/reference/dataset-schema.md` describes the columns.
//!
//! Rows keep the files of a sample verbatim, so that importing and exporting lose nothing; the other columns are
//! derived from them for queries. A file is written under another name and renamed when complete, so a file that exists
//! is whole. Reading continues after a damaged row group.

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
