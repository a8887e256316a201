//! The graphs in which patterns are searched.

use std::path::{Path, PathBuf};

use passnet_graphnet::{GraphNetMeta, Sample, graph_module, sample::read_sample_dir};
use passnet_run::Selection;
use rayon::prelude::*;

use crate::{
    Dataset, OpenError, SkippedData, Table,
    folders::{FolderError, find_samples},
    import::{DescribeError, parse},
    open_suite,
    store::{SampleRow, TableError},
};

/// Number of rows of a table that are parsed at a time.
const CHUNK: usize = 512;

/// A graph with its origin.
#[derive(Clone, Debug)]
pub struct CorpusGraph {
    /// Path in the dataset.
    pub path: String,
    /// Models that contain the graph: paths of the whole graphs from which it was cut, or the name of the model.
    pub models: Vec<String>,
    /// The graph and its inputs.
    pub sample: Sample,
}

/// All graphs of a dataset, and the samples that could not be read.
#[derive(Debug, Default)]
pub struct Corpus {
    /// The graphs in the order of the dataset.
    pub graphs: Vec<CorpusGraph>,
    /// Samples that were left out, with reasons.
    pub failures: Vec<SkippedData>,
}

/// Reason why there is no corpus.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// There is nothing at the path, or no graph.
    #[error("{path}: not a dataset or suite; name a folder with Parquet tables, tasks or samples")]
    Empty { path: PathBuf },
    /// A suite cannot be opened.
    #[error(transparent)]
    Suite(#[from] OpenError),
    /// A table cannot be listed.
    #[error(transparent)]
    Store(#[from] TableError),
    /// A folder cannot be listed.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl Corpus {
    /// Reads all graphs of a dataset (its table of whole graphs, or else of subgraphs), of an archive of a suite, or of all
    /// sample folders below a folder. Subgraphs of a dataset need no annotation. Damaged samples are failures in the result.
    ///
    /// # Errors
    /// If the path does not lead to any of these.
    pub fn open(path: &Path, table: Option<Table>) -> Result<Self, CorpusError> {
        let empty = || CorpusError::Empty { path: path.to_owned() };
        let corpus = if path.is_file() {
            Self::of_archive(path)?
        } else if path.is_dir() {
            match table_of(&Dataset::at(path), table)? {
                Some(table) => Self::of_table(&Dataset::at(path), table)?,
                None => Self::of_folders(path)?,
            }
        } else {
            return Err(empty());
        };
        if corpus.graphs.is_empty() && corpus.failures.is_empty() { Err(empty()) } else { Ok(corpus) }
    }

    fn of_archive(path: &Path) -> Result<Self, CorpusError> {
        let suite = open_suite(path, &Selection::default())?;
        let ids: Vec<_> = suite.graphs().collect();
        let graphs = ids.par_iter().map(|id| {
            let read = read_sample_dir(&suite.sample_dir(id)).map_err(|error| error.to_string());
            (format!("{}/{}", id.task, id.graph), read)
        });
        Ok(Self::collect(graphs.collect()))
    }

    fn of_folders(root: &Path) -> Result<Self, CorpusError> {
        let found = match find_samples(root) {
            // A single sample is a corpus of one graph.
            Err(FolderError::IsSample(_)) => vec![String::new()],
            found => found?,
        };
        let read = |folder: &String| {
            let name = if folder.is_empty() { root.display().to_string() } else { folder.clone() };
            (name, read_sample_dir(&root.join(folder)).map_err(|error| error.to_string()))
        };
        Ok(Self::collect(found.par_iter().map(read).collect()))
    }

    fn of_table(dataset: &Dataset, table: Table) -> Result<Self, CorpusError> {
        let mut corpus = Self::default();
        let mut rows = Vec::new();
        for row in dataset.read::<SampleRow>(table)? {
            match row {
                Ok(row) => rows.push(row),
                Err(error) => corpus.failures.push(SkippedData::of_store(&error)),
            }
            if rows.len() == CHUNK {
                corpus.add_rows(&std::mem::take(&mut rows));
            }
        }
        corpus.add_rows(&rows);
        Ok(corpus)
    }

    fn add_rows(&mut self, rows: &[SampleRow]) {
        let parsed: Vec<_> = rows.par_iter().map(parse_row).collect();
        for (row, sample) in rows.iter().zip(parsed) {
            match sample {
                Ok(sample) if row.origins.is_empty() => self.graphs.push(CorpusGraph::new(row.path.clone(), sample)),
                Ok(sample) => {
                    let mut models: Vec<String> = row.origins.iter().map(|origin| model_of(&origin.path)).collect();
                    models.sort_unstable();
                    models.dedup();
                    self.graphs.push(CorpusGraph { path: row.path.clone(), models, sample });
                }
                Err(error) => self.failures.push(SkippedData { what: row.path.clone(), message: error.to_string() }),
            }
        }
    }

    fn collect(read: Vec<(String, Result<Sample, String>)>) -> Self {
        let mut corpus = Self::default();
        for (path, sample) in read {
            match sample {
                Ok(sample) => corpus.graphs.push(CorpusGraph::new(path, sample)),
                Err(message) => corpus.failures.push(SkippedData { what: path, message }),
            }
        }
        corpus
    }

    /// Returns the number of distinct models of some graphs.
    pub fn models<'c>(&'c self, graphs: impl Iterator<Item = &'c CorpusGraph>) -> usize {
        let mut models: Vec<&str> = graphs.flat_map(|graph| &graph.models).map(String::as_str).collect();
        models.sort_unstable();
        models.dedup();
        models.len()
    }
}

/// Returns the sample of a row. A subgraph that was not annotated has no inputs.
fn parse_row(row: &SampleRow) -> Result<Sample, DescribeError> {
    match (row.files.text("weight_meta.py"), row.files.text("model.py")) {
        (None, Some(text)) => Ok(Sample {
            graph: graph_module::parse(&row.path, text)?,
            tensors: Vec::new(),
            meta: GraphNetMeta::default(),
            constraints: String::new(),
            graph_hash: None,
        }),
        _ => parse(&row.path, &row.files),
    }
}

impl CorpusGraph {
    fn new(path: String, sample: Sample) -> Self {
        let model = match (&sample.meta.source, &sample.meta.model_name) {
            (Some(source), Some(name)) => format!("{source}/{name}"),
            (None, Some(name)) => name.clone(),
            _ => model_of(&path),
        };
        Self { path, models: vec![model], sample }
    }
}

/// Returns the table to read: the requested one, or else whole graphs, or else subgraphs; `None` if the folder has no such table.
fn table_of(dataset: &Dataset, wanted: Option<Table>) -> Result<Option<Table>, TableError> {
    for table in wanted.map_or_else(|| vec![Table::Graphs, Table::Subgraphs], |table| vec![table]) {
        if !dataset.parts(table)?.is_empty() {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

/// Returns the folder of the model in a graph's path. Models with several graphs have folders `subgraph_N`.
fn model_of(path: &str) -> String {
    let is_part = |name: &str| name.starts_with("subgraph_") || name.bytes().all(|byte| byte.is_ascii_digit());
    match path.rsplit_once('/') {
        Some((model, name)) if is_part(name) => model_of(model),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::model_of;

    #[test]
    fn parts_of_a_model_are_one_model() {
        for (path, model) in [
            ("timm/resnet18", "timm/resnet18"),
            ("nlp/t5/subgraph_0", "nlp/t5"),
            ("nlp/t5/subgraph_0/003", "nlp/t5"),
            ("000", "000"),
        ] {
            assert_eq!(model_of(path), model, "{path}");
        }
    }
}
