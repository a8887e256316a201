use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::{
    columns::{Columns, list_type, lists, optional_strings, strings, struct_type},
    row::{NamedFile, Row, View},
    sample::{decode_files, encode_files},
};

/// One task: an op sequence and the graphs that share it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskRow {
    /// Name of the task and of its folder.
    pub id: String,
    /// `eval` or `train`; `None` if not recorded.
    pub split: Option<String>,
    /// Op names in program order; empty if unknown.
    pub ops: Vec<String>,
    /// Paths of its graphs in the table of samples, in order.
    pub graphs: Vec<String>,
    /// Files of the task folder that belong to none of its graphs, such as `graph_list.txt` and `pass_dir/...`.
    pub files: Vec<NamedFile>,
}

impl View for TaskRow {
    const TABLE: &'static str = "tasks";

    fn schema() -> Schema {
        let file = struct_type([("name", DataType::Utf8), ("content", DataType::Binary)]);
        Schema::new(vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("split", DataType::Utf8, true),
            Field::new("ops", list_type(DataType::Utf8), false),
            Field::new("graphs", list_type(DataType::Utf8), false),
            Field::new("files", list_type(file), false),
        ])
    }

    fn decode(batch: &RecordBatch) -> Result<Vec<Self>, String> {
        let columns = Columns::Batch(batch);
        let names = columns.strings("id")?.into_iter().zip(columns.optional_strings("split")?);
        let lists = columns.string_lists("ops")?.into_iter().zip(columns.string_lists("graphs")?);
        let rows = names.zip(lists).zip(decode_files(&columns, "files")?);
        Ok(rows.map(|(((id, split), (ops, graphs)), files)| Self { id, split, ops, graphs, files }).collect())
    }
}

impl Row for TaskRow {
    fn encode(rows: &[Self]) -> Result<RecordBatch, ArrowError> {
        let texts = |lists: fn(&Self) -> &Vec<String>| strings(rows.iter().flat_map(lists).map(String::as_str));
        let columns = vec![
            strings(rows.iter().map(|row| row.id.as_str())),
            optional_strings(rows.iter().map(|row| row.split.as_deref())),
            lists(rows.iter().map(|row| row.ops.len()), texts(|row| &row.ops))?,
            lists(rows.iter().map(|row| row.graphs.len()), texts(|row| &row.graphs))?,
            encode_files(rows.iter().map(|row| row.files.as_slice()))?,
        ];
        RecordBatch::try_new(Self::schema().into(), columns)
    }

    fn raw_bytes(&self) -> usize {
        let texts: usize = self.ops.iter().chain(&self.graphs).map(|text| text.len() + 4).sum();
        texts + self.files.iter().map(|file| file.name.len() + file.content.len()).sum::<usize>()
    }
}
