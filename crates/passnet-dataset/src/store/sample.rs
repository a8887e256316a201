use std::{fmt, str::FromStr};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use passnet_record::{ContentId, DType};

use super::{
    columns::{Columns, binaries, int32s, int64s, list_type, lists, optional_strings, strings, struct_type, structs},
    row::{NamedFile, Row, View},
};
use crate::fold::OpRange;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GraphKind {
    /// A whole captured graph.
    #[default]
    Full,
    SingleOp,
    /// Ops that a compiler fuses, found by measurement.
    Fusible,
    /// Ops that occur repeatedly, found by folding.
    Classical,
}

impl GraphKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Full, Self::SingleOp, Self::Fusible, Self::Classical];

    /// Returns the name of the kind in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::SingleOp => "single_op",
            Self::Fusible => "fusible",
            Self::Classical => "classical",
        }
    }
}

impl fmt::Display for GraphKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for GraphKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| format!("unknown kind `{text}`; the kinds are {names}"))
    }
}

/// One input of a graph, weights included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Parameter of `forward`.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Extent of each dimension.
    pub shape: Vec<u64>,
}

impl Input {
    /// Returns the size of a contiguous tensor in bytes; `None` if it overflows 64 bits.
    pub fn nbytes(&self) -> Option<u64> {
        let size = self.dtype.size() as u64;
        self.shape.iter().try_fold(size, |bytes, &extent| bytes.checked_mul(extent))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubgraphOrigin {
    /// Path of the full graph.
    pub path: String,
    /// Range of its ops in the full graph.
    pub range: OpRange,
}

/// Hashes under which graphs are compared, from strict to loose. `None` where the graph could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hashes {
    /// Text of `model.py`.
    pub text: Option<String>,
    /// Structure, and shape and dtype of each input.
    pub typed: Option<String>,
    /// Structure: ops, constants and data flow, without names and statement order.
    pub structure: Option<String>,
    /// Structure without the values of integer constants.
    pub masked: Option<String>,
    /// Op names in program order.
    pub ops: Option<String>,
}

/// The files of a sample folder, verbatim. `None` stands for an absent file, an empty string for an empty file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleFiles {
    texts: [Option<String>; SampleFiles::NAMES.len()],
    /// Files with other names, and files that are not UTF-8.
    pub others: Vec<NamedFile>,
}

impl SampleFiles {
    /// Names of the files that have a column of their own.
    pub const NAMES: [&str; 7] = [
        "model.py",
        "weight_meta.py",
        "input_meta.py",
        "input_tensor_constraints.py",
        "graph_net.json",
        "graph_hash.txt",
        "subgraph_sources.json",
    ];

    /// The column of each of [`Self::NAMES`].
    const COLUMNS: [&str; 7] = [
        "model_py",
        "weight_meta_py",
        "input_meta_py",
        "input_tensor_constraints_py",
        "graph_net_json",
        "graph_hash_txt",
        "subgraph_sources_json",
    ];

    /// Adds a file.
    pub fn insert(&mut self, name: String, content: Vec<u8>) {
        let place = Self::NAMES.iter().position(|known| *known == name);
        match (place, String::from_utf8(content)) {
            (Some(place), Ok(text)) => self.texts[place] = Some(text),
            (None, Ok(text)) => self.others.push(NamedFile { name, content: text.into_bytes() }),
            // A text column holds only UTF-8. Other content is kept as bytes, so that the folder can be written back unchanged.
            (_, Err(error)) => self.others.push(NamedFile { name, content: error.into_bytes() }),
        }
    }

    /// Returns the text of one of [`Self::NAMES`]; `None` if it is absent or not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        let place = Self::NAMES.iter().position(|known| *known == name)?;
        self.texts[place].as_deref()
    }

    /// Returns all files with their content.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let texts = Self::NAMES.into_iter().zip(&self.texts);
        let texts = texts.filter_map(|(name, text)| Some((name, text.as_ref()?.as_bytes())));
        texts.chain(self.others.iter().map(|file| (file.name.as_str(), file.content.as_slice())))
    }

    /// Returns the id of the folder's content.
    pub fn content_id(&self) -> ContentId {
        ContentId::of_parts(self.iter().flat_map(|(name, content)| [name.as_bytes(), content]))
    }
}

/// One graph or subgraph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleRow {
    /// Path of the sample's folder below the root of the dataset, with `/` between its parts. It is unique in a table.
    pub path: String,
    pub kind: GraphKind,
    /// Library of the model (`source` of `graph_net.json`).
    pub source: Option<String>,
    /// Field of use (`heuristic_tag` of `graph_net.json`).
    pub domain: Option<String>,
    /// Op names in program order.
    pub ops: Vec<String>,
    /// Inputs in the order of `forward`.
    pub inputs: Vec<Input>,
    /// Hashes by which samples are compared.
    pub hashes: Hashes,
    /// Full graphs from which the subgraph was cut, with ranges; empty for full graphs.
    pub origins: Vec<SubgraphOrigin>,
    /// Paths of samples that were dropped because they equal this one.
    pub duplicates: Vec<String>,
    /// The folder's files.
    pub files: SampleFiles,
}

/// Identity and origin of a graph or subgraph: the columns of a row without its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage {
    pub path: String,
    pub hashes: Hashes,
    pub origins: Vec<SubgraphOrigin>,
    pub duplicates: Vec<String>,
}

impl View for Lineage {
    const TABLE: &'static str = SampleRow::TABLE;

    fn schema() -> Schema {
        let whole = SampleRow::schema();
        let names = ["path", "origins", "duplicates"].into_iter().chain(HASHES.map(|(name, _)| name));
        Schema::new(names.filter_map(|name| whole.field_with_name(name).ok().cloned()).collect::<Vec<_>>())
    }

    fn decode(batch: &RecordBatch) -> Result<Vec<Self>, String> {
        let columns = Columns::Batch(batch);
        let names = columns.strings("path")?.into_iter().zip(decode_hashes(&columns)?);
        let before =
            columns.struct_lists("origins", decode_origins)?.into_iter().zip(columns.string_lists("duplicates")?);
        let rows = names.zip(before);
        Ok(rows.map(|((path, hashes), (origins, duplicates))| Self { path, hashes, origins, duplicates }).collect())
    }
}

/// A hash column: its name and its field.
type HashColumn = (&'static str, fn(&Hashes) -> &Option<String>);

const HASHES: [HashColumn; 5] = [
    ("text_hash", |hashes| &hashes.text),
    ("typed_hash", |hashes| &hashes.typed),
    ("structural_hash", |hashes| &hashes.structure),
    ("masked_hash", |hashes| &hashes.masked),
    ("ops_hash", |hashes| &hashes.ops),
];

impl View for SampleRow {
    const TABLE: &'static str = "samples";

    fn schema() -> Schema {
        let required = |name: &str, kind| Field::new(name, kind, false);
        let text = |name: &str| Field::new(name, DataType::Utf8, true);
        let input =
            struct_type([("name", DataType::Utf8), ("dtype", DataType::Utf8), ("shape", list_type(DataType::Int64))]);
        let origin = struct_type([("path", DataType::Utf8), ("start", DataType::Int32), ("end", DataType::Int32)]);
        let file = struct_type([("name", DataType::Utf8), ("content", DataType::Binary)]);
        let mut fields = vec![
            required("path", DataType::Utf8),
            required("content_id", DataType::Utf8),
            required("kind", DataType::Utf8),
            text("source"),
            text("domain"),
            required("ops", list_type(DataType::Utf8)),
            required("inputs", list_type(input)),
        ];
        // In the order of `encode`, because Arrow matches columns by position.
        fields.extend(HASHES.iter().map(|(name, _)| text(name)));
        fields.push(required("origins", list_type(origin)));
        fields.push(required("duplicates", list_type(DataType::Utf8)));
        fields.extend(SampleFiles::COLUMNS.iter().map(|name| text(name)));
        fields.push(required("other_files", list_type(file)));
        Schema::new(fields)
    }

    fn decode(batch: &RecordBatch) -> Result<Vec<Self>, String> {
        let columns = Columns::Batch(batch);
        let mut rows: Vec<Self> =
            columns.strings("path")?.into_iter().map(|path| Self { path, ..Self::default() }).collect();
        let set = |values: Vec<Option<String>>, rows: &mut Vec<Self>, field: fn(&mut Self) -> &mut Option<String>| {
            for (row, value) in rows.iter_mut().zip(values) {
                *field(row) = value;
            }
        };
        set(columns.optional_strings("source")?, &mut rows, |row| &mut row.source);
        set(columns.optional_strings("domain")?, &mut rows, |row| &mut row.domain);
        for (row, hashes) in rows.iter_mut().zip(decode_hashes(&columns)?) {
            row.hashes = hashes;
        }
        for (file, name) in SampleFiles::COLUMNS.iter().enumerate() {
            for (row, text) in rows.iter_mut().zip(columns.optional_strings(name)?) {
                row.files.texts[file] = text;
            }
        }
        let lists = columns.string_lists("ops")?.into_iter().zip(columns.string_lists("duplicates")?);
        let structs = columns.struct_lists("inputs", decode_inputs)?.into_iter().zip(
            columns.struct_lists("origins", decode_origins)?.into_iter().zip(decode_files(&columns, "other_files")?),
        );
        for (row, ((ops, duplicates), (inputs, (origins, others)))) in rows.iter_mut().zip(lists.zip(structs)) {
            (row.ops, row.duplicates, row.inputs, row.origins, row.files.others) =
                (ops, duplicates, inputs, origins, others);
        }
        for (row, kind) in rows.iter_mut().zip(columns.strings("kind")?) {
            row.kind = kind.parse()?;
        }
        for (row, id) in rows.iter().zip(columns.strings("content_id")?) {
            // Parquet detects damaged pages only if the writer stored checksums. This check compares the content itself.
            if row.files.content_id().as_str() != id {
                return Err(format!("the files of `{}` have changed since they were written", row.path));
            }
        }
        Ok(rows)
    }
}

impl Row for SampleRow {
    fn encode(rows: &[Self]) -> Result<RecordBatch, ArrowError> {
        let ids: Vec<String> = rows.iter().map(|row| row.files.content_id().to_string()).collect();
        let inputs = || rows.iter().flat_map(|row| &row.inputs);
        let origins = || rows.iter().flat_map(|row| &row.origins);
        let shapes = lists(
            inputs().map(|input| input.shape.len()),
            int64s(inputs().flat_map(|input| &input.shape).map(|&extent| extent.cast_signed())),
        )?;
        let inputs = structs([
            ("name", strings(inputs().map(|input| input.name.as_str()))),
            ("dtype", strings(inputs().map(|input| input.dtype.name()))),
            ("shape", shapes),
        ])?;
        let origins = structs([
            ("path", strings(origins().map(|origin| origin.path.as_str()))),
            ("start", int32s(origins().map(|origin| origin.range.start.cast_signed()))),
            ("end", int32s(origins().map(|origin| origin.range.end.cast_signed()))),
        ])?;
        let texts = |lists: fn(&Self) -> &Vec<String>| strings(rows.iter().flat_map(lists).map(String::as_str));
        let mut columns = vec![
            strings(rows.iter().map(|row| row.path.as_str())),
            strings(ids.iter().map(String::as_str)),
            strings(rows.iter().map(|row| row.kind.name())),
            optional_strings(rows.iter().map(|row| row.source.as_deref())),
            optional_strings(rows.iter().map(|row| row.domain.as_deref())),
            lists(rows.iter().map(|row| row.ops.len()), texts(|row| &row.ops))?,
            lists(rows.iter().map(|row| row.inputs.len()), inputs)?,
        ];
        columns.extend(HASHES.map(|(_, hash)| optional_strings(rows.iter().map(|row| hash(&row.hashes).as_deref()))));
        columns.push(lists(rows.iter().map(|row| row.origins.len()), origins)?);
        columns.push(lists(rows.iter().map(|row| row.duplicates.len()), texts(|row| &row.duplicates))?);
        columns.extend(
            (0..SampleFiles::NAMES.len())
                .map(|file| optional_strings(rows.iter().map(|row| row.files.texts[file].as_deref()))),
        );
        columns.push(encode_files(rows.iter().map(|row| row.files.others.as_slice()))?);
        RecordBatch::try_new(Self::schema().into(), columns)
    }

    fn raw_bytes(&self) -> usize {
        let files: usize = self.files.iter().map(|(name, content)| name.len() + content.len()).sum();
        let ops: usize = self.ops.iter().map(|op| op.len() + 4).sum();
        let inputs: usize = self.inputs.iter().map(|input| input.name.len() + 8 * input.shape.len() + 16).sum();
        files + ops + inputs
    }
}

fn decode_hashes(columns: &Columns<'_>) -> Result<Vec<Hashes>, String> {
    let texts = columns.optional_strings("text_hash")?.into_iter().zip(columns.optional_strings("typed_hash")?);
    let structures =
        columns.optional_strings("structural_hash")?.into_iter().zip(columns.optional_strings("masked_hash")?);
    let rows = texts.zip(structures).zip(columns.optional_strings("ops_hash")?);
    let hashes = |(((text, typed), (structure, masked)), ops)| Hashes { text, typed, structure, masked, ops };
    Ok(rows.map(hashes).collect())
}

fn decode_inputs(columns: &Columns<'_>) -> Result<Vec<Input>, String> {
    let values = columns.strings("name")?.into_iter().zip(columns.strings("dtype")?);
    values
        .zip(columns.int64_lists("shape")?)
        .map(|((name, dtype), shape)| {
            let dtype = dtype.parse().map_err(|error| format!("input `{name}`: {error}"))?;
            Ok(Input { name, dtype, shape: shape.into_iter().map(i64::cast_unsigned).collect() })
        })
        .collect()
}

fn decode_origins(columns: &Columns<'_>) -> Result<Vec<SubgraphOrigin>, String> {
    let ranges = columns.int32s("start")?.into_iter().zip(columns.int32s("end")?);
    let ranges = ranges.map(|(start, end)| OpRange::new(start.cast_unsigned(), end.cast_unsigned()));
    Ok(columns.strings("path")?.into_iter().zip(ranges).map(|(path, range)| SubgraphOrigin { path, range }).collect())
}

/// Returns a column of lists of files.
pub(super) fn encode_files<'a>(
    rows: impl Iterator<Item = &'a [NamedFile]> + Clone,
) -> Result<arrow_array::ArrayRef, ArrowError> {
    let files = || rows.clone().flatten();
    let items = structs([
        ("name", strings(files().map(|file| file.name.as_str()))),
        ("content", binaries(files().map(|file| file.content.as_slice()))),
    ])?;
    lists(rows.clone().map(<[NamedFile]>::len), items)
}

pub(super) fn decode_files(columns: &Columns<'_>, name: &str) -> Result<Vec<Vec<NamedFile>>, String> {
    columns.struct_lists(name, |files| {
        let values = files.strings("name")?.into_iter().zip(files.binaries("content")?);
        Ok(values.map(|(name, content)| NamedFile { name, content }).collect())
    })
}
