use std::collections::BTreeMap;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use passnet_record::{DType, TensorMeta, TensorValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Row, View,
    columns::{Columns, int32s, int64s, list_type, lists, strings},
};
use crate::fusible::Measured;

/// What is known of every value of one full graph.
#[derive(Clone, Debug, PartialEq)]
pub struct AnnotationRow {
    /// Path of the graph.
    pub path: String,
    /// Content id of its files when it was annotated; an annotation of other files is void.
    pub graph: String,
    /// The annotation, or why there is none.
    pub annotation: Result<Annotation, String>,
}

/// Types, statistics and variants of the values of one graph, inputs before nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotation {
    /// What each value is like; `None` for what is no tensor.
    pub values: Vec<Option<ValueMeta>>,
    /// Whether statistics were measured by running the graph.
    pub executed: bool,
    /// Other extents of its data inputs.
    #[serde(default)]
    pub assignments: Vec<Assignment>,
    /// Other dtypes of its floating inputs.
    #[serde(default)]
    pub dtypes: Vec<Cast>,
}

/// A tensor without its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields of `TensorMeta`")]
pub struct ValueMeta {
    pub shape: Vec<u64>,
    pub dtype: DType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Vec<TensorValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_val: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_val: Option<f64>,
}

impl ValueMeta {
    /// With a name, on the CPU.
    pub fn named(self, name: &str) -> TensorMeta {
        let Self { shape, dtype, mean, std, data, min_val, max_val } = self;
        let (name, device) = (name.to_owned(), "cpu".to_owned());
        TensorMeta { name, original_name: None, shape, dtype, device, mean, std, data, min_val, max_val }
    }
}

/// The graph at other extents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Extents by what they are: `batch`, `length`, `height`, `width`.
    pub symbols: BTreeMap<String, u64>,
    /// Shape of each value; `None` for what is no tensor or comes after an op that does not run so.
    pub shapes: Vec<Option<Vec<u64>>>,
    /// Arguments that follow the extents.
    pub literals: Vec<Literals>,
}

/// The graph at another dtype.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cast {
    /// What every float32 input has instead.
    pub dtype: DType,
    /// Dtype of each value; `None` as in [`Assignment::shapes`].
    pub types: Vec<Option<DType>>,
    /// Arguments that follow the dtype.
    pub literals: Vec<Literals>,
}

/// Other arguments of one node, in wire form (`docs/graph-wire.md`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Literals {
    /// Index of the node.
    pub node: usize,
    /// All its positional arguments.
    pub args: Value,
    /// All its keyword arguments.
    pub kwargs: Value,
}

/// How many kernels the prefixes of one graph compile to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelsRow {
    /// Path of the subgraph.
    pub path: String,
    /// Its typed hash: equal graphs have equal counts.
    pub typed: String,
    /// What they were counted on: `cpu` or `cuda`.
    pub device: String,
    /// The counts; empty if it does not compile.
    pub measured: Measured,
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
        // Each extent takes about four digits.
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
                let measured = measured.ok_or_else(|| format!("kernel counts of `{path}` do not fit one another"))?;
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

fn measured(kernels: Vec<i64>, compiled: Vec<i64>, calls: i32) -> Option<Measured> {
    let kernels: Vec<u32> = kernels.into_iter().map(u32::try_from).collect::<Result<_, _>>().ok()?;
    let prefix = |k| usize::try_from(k).ok().filter(|k| (1..=kernels.len()).contains(k));
    let compiled = compiled.into_iter().map(prefix).collect::<Option<_>>()?;
    Some(Measured { compiled, compilations: u32::try_from(calls).ok()?, kernels })
}
