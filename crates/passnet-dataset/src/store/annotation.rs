use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use passnet_record::services::Annotation;

use super::{
    columns::{Columns, int32s, int64s, list_type, lists, strings},
    row::{Row, View},
};
use crate::fusible::PrefixCounts;

/// Facts about every value of one full graph.
#[derive(Clone, Debug, PartialEq)]
pub struct AnnotationRow {
    /// Path of the graph.
    pub path: String,
    /// Content id of the graph's files at the time of the annotation. If the files have changed, the annotation is void.
    pub graph: String,
    /// The annotation, or the reason why there is none.
    pub annotation: Result<Annotation, String>,
}

/// Kernel counts of the prefixes of one graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelsRow {
    /// Path of the subgraph.
    pub path: String,
    /// Typed hash. Equal graphs have equal counts.
    pub typed: String,
    /// Device for which kernels were counted: `cpu` or `cuda`.
    pub device: String,
    /// The counts; empty if the graph does not compile.
    pub measured: PrefixCounts,
}

impl View for AnnotationRow {
    const TABLE: &'static str = "annotations";

    fn schema() -> Schema {
        let text = |name: &str| Field::new(name, DataType::Utf8, false);
        Schema::new(vec![text("path"), text("graph"), text("annotation"), text("failure")])
    }

    fn decode(batch: &RecordBatch) -> Result<Vec<Self>, String> {
        let columns = Columns::Batch(batch);
        let names = columns.strings("path")?.into_iter().zip(columns.strings("graph")?);
        let texts = columns.strings("annotation")?.into_iter().zip(columns.strings("failure")?);
        names
            .zip(texts)
            .map(|((path, graph), (text, failure))| {
                let parsed = || serde_json::from_str(&text).map_err(|error| format!("annotation of `{path}`: {error}"));
                let annotation = if failure.is_empty() { Ok(parsed()?) } else { Err(failure) };
                Ok(Self { path, graph, annotation })
            })
            .collect()
    }
}

impl Row for AnnotationRow {
    fn encode(rows: &[Self]) -> Result<RecordBatch, ArrowError> {
        let mut texts = Vec::with_capacity(rows.len());
        for row in rows {
            texts.push(match &row.annotation {
                Ok(annotation) => {
                    serde_json::to_string(annotation).map_err(|error| ArrowError::ExternalError(Box::new(error)))?
                }
                Err(_) => String::new(),
            });
        }
        let failure = |row: &Self| row.annotation.as_ref().err().cloned().unwrap_or_default();
        let failures: Vec<String> = rows.iter().map(failure).collect();
        let columns = vec![
            strings(rows.iter().map(|row| row.path.as_str())),
            strings(rows.iter().map(|row| row.graph.as_str())),
            strings(texts.iter().map(String::as_str)),
            strings(failures.iter().map(String::as_str)),
        ];
        RecordBatch::try_new(Self::schema().into(), columns)
    }

    fn raw_bytes(&self) -> usize {
        let Ok(annotation) = &self.annotation else { return self.path.len() };
        // An extent has about four digits.
        let shapes = annotation.assignments.iter().map(|assignment| 24 * assignment.shapes.len()).sum::<usize>();
        self.path.len() + 160 * annotation.values.len() + shapes
    }
}

impl View for KernelsRow {
    const TABLE: &'static str = "kernels";

    fn schema() -> Schema {
        let text = |name: &str| Field::new(name, DataType::Utf8, false);
        Schema::new(vec![
            text("path"),
            text("typed_hash"),
            text("device"),
            Field::new("kernels", list_type(DataType::Int64), false),
            Field::new("calls", DataType::Int32, false),
            Field::new("compiled", list_type(DataType::Int64), false),
        ])
    }

    fn decode(batch: &RecordBatch) -> Result<Vec<Self>, String> {
        let columns = Columns::Batch(batch);
        let names = columns.strings("path")?.into_iter().zip(columns.strings("typed_hash")?);
        let names = names.zip(columns.strings("device")?);
        let counts = columns.int64_lists("kernels")?.into_iter().zip(columns.int64_lists("compiled")?);
        let counts = counts.zip(columns.int32s("calls")?);
        names
            .zip(counts)
            .map(|(((path, typed), device), ((kernels, compiled), calls))| {
                let measured = measured(kernels, compiled, calls);
                let measured = measured.ok_or_else(|| format!("kernel counts of `{path}` are inconsistent"))?;
                Ok(Self { path, typed, device, measured })
            })
            .collect()
    }
}

impl Row for KernelsRow {
    fn encode(rows: &[Self]) -> Result<RecordBatch, ArrowError> {
        let counts = |row: &Self| row.measured.kernels.iter().copied().map(i64::from).collect();
        let compiled = |row: &Self| row.measured.compiled.iter().map(|&k| k as i64).collect();
        let columns = vec![
            strings(rows.iter().map(|row| row.path.as_str())),
            strings(rows.iter().map(|row| row.typed.as_str())),
            strings(rows.iter().map(|row| row.device.as_str())),
            int64_lists(rows.iter().map(counts).collect())?,
            int32s(rows.iter().map(|row| row.measured.compilations as i32)),
            int64_lists(rows.iter().map(compiled).collect())?,
        ];
        RecordBatch::try_new(Self::schema().into(), columns)
    }

    fn raw_bytes(&self) -> usize {
        self.path.len() + self.typed.len() + 24 * self.measured.kernels.len() + 16
    }
}

fn int64_lists(rows: Vec<Vec<i64>>) -> Result<ArrayRef, ArrowError> {
    lists(rows.iter().map(Vec::len), int64s(rows.iter().flatten().copied()))
}

fn measured(kernels: Vec<i64>, compiled: Vec<i64>, calls: i32) -> Option<PrefixCounts> {
    let kernels: Vec<u32> = kernels.into_iter().map(u32::try_from).collect::<Result<_, _>>().ok()?;
    let prefix = |k| usize::try_from(k).ok().filter(|k| (1..=kernels.len()).contains(k));
    let compiled = compiled.into_iter().map(prefix).collect::<Option<_>>()?;
    Some(PrefixCounts { compiled, compilations: u32::try_from(calls).ok()?, kernels })
}
