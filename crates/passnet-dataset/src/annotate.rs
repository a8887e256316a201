//! Annotation: runs full graphs once to record facts about their values.

use std::{collections::BTreeMap, fmt};

use passnet_graph::wire;
use passnet_record::{
    counted,
    services::{AnnotateRequest, OVER_MEMORY, Variants, VariantsRequest},
};
use rayon::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Dataset, SkippedData, Table,
    import::parse,
    phase::Phase,
    store::{Annotation, AnnotationRow, SampleRow, TableError},
};

/// Runs PyTorch for a stage: takes a JSON object and returns one. Several threads call it at the same time.
pub trait Runner: Sync {
    /// Sends one question and returns the answer.
    ///
    /// # Errors
    /// One sentence that names the failure of the graph or of the runner.
    fn ask(&self, request: &Value) -> Result<Value, String>;

    /// Returns the number of questions that are answered at the same time.
    fn width(&self) -> usize {
        rayon::current_num_threads()
    }
}

/// The runners of the stages that ask PyTorch.
#[derive(Clone, Copy)]
pub struct Runners<'a> {
    /// Describes the values of graphs.
    pub annotate: &'a dyn Runner,
    /// Counts kernels.
    pub kernels: &'a dyn Runner,
    /// Proves that graphs run.
    pub prove: &'a dyn Runner,
}

/// Calls a function in which `width` iterations run at the same time: as many as a runner answers questions.
pub(crate) fn side_by_side<T: Send>(width: usize, work: impl FnOnce() -> T + Send) -> T {
    if width == rayon::current_num_threads() {
        return work();
    }
    match rayon::ThreadPoolBuilder::new().num_threads(width).build() {
        Ok(pool) => pool.install(work),
        // If no further threads can be created, the existing threads do the work.
        Err(_) => work(),
    }
}

impl<F: Fn(&Value) -> Result<Value, String> + Sync> Runner for F {
    fn ask(&self, request: &Value) -> Result<Value, String> {
        self(request)
    }
}

/// Limits for one graph.
#[derive(Clone, Debug)]
pub struct AnnotationLimits {
    /// Bytes of inputs above which a graph is only propagated and not run.
    pub max_bytes: u64,
    /// Time limit of one graph, in seconds of wall-clock time.
    pub seconds: f64,
    /// If true, each graph also gets its variants. Suites need those of a few graphs only, and ask for them then ([`Varier`]).
    pub variants: bool,
}

impl Default for AnnotationLimits {
    /// Returns 1 GiB of inputs, five minutes, and no variants.
    fn default() -> Self {
        Self { max_bytes: 1 << 30, seconds: 300.0, variants: false }
    }
}

/// Result of a stage that runs graphs.
#[derive(Debug, Default)]
pub struct Annotated {
    /// Number of graphs that were annotated now.
    pub graphs: usize,
    /// Number of graphs among `graphs` that were run rather than propagated.
    pub executed: usize,
    /// Number of graphs that were annotated before.
    pub present: usize,
    /// Graphs without annotation, with the reasons.
    pub failures: Vec<SkippedData>,
}

impl fmt::Display for Annotated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (graphs, executed, present) = (counted(self.graphs, "graph"), self.executed, self.present);
        write!(f, "{graphs} annotated, {executed} of them by running them; {present} already were")
    }
}

/// Number of graphs between two files of the table. An interruption loses the work on this many graphs at most. With fewer
/// graphs, workers would be idle next to one slow graph. The number is the same on all machines, so that all machines write the
/// same files.
const CHUNK: usize = 64;

/// Annotates all graphs that have no annotation yet, in the order of their table, so that the same call continues an interrupted
/// one. If a graph does not run, the reason is recorded, and the graph is not tried again unless its files change. A graph that
/// needs more memory than a worker may use is a failure of this call only. `progress` is called with the number of graphs done
/// and the number of all graphs.
///
/// # Errors
/// If a table cannot be listed or written.
pub fn annotate(
    dataset: &Dataset,
    runner: &dyn Runner,
    limits: &AnnotationLimits,
    progress: &dyn Fn(usize, usize),
) -> Result<Annotated, TableError> {
    annotate_with(dataset, runner.width(), &|row| annotate_one(row, runner, limits), progress)
}

/// Function that returns the annotation of a graph, or the reason why there is none.
pub(crate) type AnnotateGraph<'a> = &'a (dyn Fn(&SampleRow) -> Result<Annotation, String> + Sync);

/// Annotates `width` graphs at a time, with annotations from any source.
pub(crate) fn annotate_with(
    dataset: &Dataset,
    width: usize,
    annotate: AnnotateGraph<'_>,
    progress: &dyn Fn(usize, usize),
) -> Result<Annotated, TableError> {
    let mut result = Annotated::default();
    let mut known: BTreeMap<String, (String, Option<String>)> = BTreeMap::new();
    for row in dataset.read::<AnnotationRow>(Table::Annotations)? {
        match row {
            Ok(row) => drop(known.insert(row.path, (row.graph, row.annotation.err()))),
            Err(error) => result.failures.push(SkippedData::of_store(&error)),
        }
    }
    let total: u64 = dataset.rows::<SampleRow>(Table::Graphs)?;
    let mut done = 0;
    let mut todo = Vec::new();
    for row in dataset.read::<SampleRow>(Table::Graphs)? {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                result.failures.push(SkippedData::of_store(&error));
                continue;
            }
        };
        match known.remove(&row.path) {
            // Recognised by content, because a graph may have been repaired or captured again under the same path.
            Some((content, failure)) if content == row.files.content_id().as_str() => {
                result.present += 1;
                done += 1;
                result.failures.extend(failure.map(|message| SkippedData { what: row.path, message }));
            }
            _ => todo.push(row),
        }
        if todo.len() == CHUNK {
            done += todo.len();
            annotate_chunk(dataset, std::mem::take(&mut todo), width, annotate, &mut result)?;
            progress(done, usize::try_from(total).unwrap_or(usize::MAX));
        }
    }
    annotate_chunk(dataset, todo, width, annotate, &mut result)?;
    Ok(result)
}

fn annotate_chunk(
    dataset: &Dataset,
    rows: Vec<SampleRow>,
    width: usize,
    annotate: AnnotateGraph<'_>,
    result: &mut Annotated,
) -> Result<(), TableError> {
    let annotate = |row: SampleRow| {
        let annotation = annotate(&row);
        AnnotationRow { graph: row.files.content_id().to_string(), path: row.path, annotation }
    };
    let rows: Vec<AnnotationRow> = side_by_side(width, || rows.into_par_iter().map(annotate).collect());
    let mut writer = dataset.append(Table::Annotations)?;
    for row in rows {
        match &row.annotation {
            Ok(annotation) => {
                result.graphs += 1;
                result.executed += usize::from(annotation.executed);
            }
            Err(message) => result.failures.push(SkippedData { what: row.path.clone(), message: message.clone() }),
        }
        // Not written, because the table would then say that the graph was tried.
        if row.annotation.as_ref().err().is_some_and(|message| is_over_memory(message)) {
            continue;
        }
        writer.push(row)?;
    }
    writer.finish()
}

fn annotate_one(row: &SampleRow, runner: &dyn Runner, limits: &AnnotationLimits) -> Result<Annotation, String> {
    let sample = parse(&row.path, &row.files).map_err(|error| error.to_string())?;
    // Annotation runs on any machine, because values do not depend on the device on which the model was captured.
    let graph = sample.graph.with_device("cpu", None);
    let request = AnnotateRequest {
        graph: wire::to_value(&graph),
        inputs: sample.tensors,
        max_bytes: limits.max_bytes,
        seconds: limits.seconds,
        variants: limits.variants && has_variants(&row.path),
    };
    let annotation: Annotation = ask(runner, &request)?;
    complete(annotation, graph.num_values())
}

/// Returns whether a graph may have variants. Training steps have none: their extents are those of saved values, which no rule
/// describes.
fn has_variants(path: &str) -> bool {
    Phase::of(path) == Phase::Inference
}

/// Checks that an annotation describes all values of a graph.
fn complete(annotation: Annotation, values: usize) -> Result<Annotation, String> {
    let lens =
        annotation.assignments.iter().map(|a| a.shapes.len()).chain(annotation.dtypes.iter().map(|c| c.types.len()));
    match lens.chain([annotation.values.len()]).find(|&len| len != values) {
        Some(len) => Err(format!("malformed reply: {len} of {values} values")),
        None => Ok(annotation),
    }
}

/// Adds variants to annotations that were made without them.
pub(crate) struct Varier<'a> {
    pub(crate) runner: &'a dyn Runner,
    /// Time limit of one graph, in seconds.
    pub(crate) seconds: f64,
}

impl Varier<'_> {
    /// Returns the annotation of a graph with both casts and at most `assignments` assignments of extents, unless it has variants
    /// already or the graph cannot have any.
    pub(crate) fn vary(
        &self,
        row: &SampleRow,
        annotation: Annotation,
        assignments: usize,
    ) -> Result<Annotation, String> {
        let is_varied = !annotation.assignments.is_empty() || !annotation.dtypes.is_empty();
        if is_varied || !has_variants(&row.path) {
            return Ok(annotation);
        }
        let sample = parse(&row.path, &row.files).map_err(|error| error.to_string())?;
        let graph = sample.graph.with_device("cpu", None);
        let shapes = annotation.values.iter().map(|value| value.as_ref().map(|value| value.shape.clone())).collect();
        let (inputs, seconds) = (sample.tensors, self.seconds);
        let request = VariantsRequest { graph: wire::to_value(&graph), inputs, shapes, assignments, seconds };
        let Variants { assignments, dtypes } = ask(self.runner, &request)?;
        complete(Annotation { assignments, dtypes, ..annotation }, graph.num_values())
    }
}

/// Returns whether a failure is due to the memory limit of workers. A call with another limit may then succeed.
pub(crate) fn is_over_memory(message: &str) -> bool {
    message.starts_with(OVER_MEMORY)
}

/// Sends a typed question to a runner and returns its typed answer.
pub(crate) fn ask<Reply: DeserializeOwned>(runner: &dyn Runner, request: &impl Serialize) -> Result<Reply, String> {
    let request = serde_json::to_value(request).map_err(|error| error.to_string())?;
    serde_json::from_value(runner.ask(&request)?).map_err(|error| format!("malformed reply: {error}"))
}

/// Annotations of the graphs of a dataset, requested in the order of the table of graphs.
///
/// Rows that come before the requested row wait in memory. They are few as long as both tables have the same order.
pub(crate) struct Annotations<I> {
    rows: I,
    waiting: BTreeMap<String, AnnotationRow>,
}

/// A stream of annotations.
pub(crate) type AnnotationRows = Box<dyn Iterator<Item = AnnotationRow>>;

impl Annotations<AnnotationRows> {
    pub(crate) fn open(dataset: &Dataset) -> Result<Self, TableError> {
        // Damaged rows were reported by the stage that wrote the table, and the next stage reports them again.
        let rows = dataset.read::<AnnotationRow>(Table::Annotations)?.flatten();
        Ok(Self { rows: Box::new(rows), waiting: BTreeMap::new() })
    }

    /// Returns the annotation of a graph with exactly these files.
    pub(crate) fn of(&mut self, graph: &SampleRow) -> Option<Annotation> {
        let content = graph.files.content_id();
        if let Some(row) = self.waiting.remove(&graph.path)
            && row.graph == content.as_str()
        {
            return row.annotation.ok();
        }
        for row in self.rows.by_ref() {
            if row.path == graph.path && row.graph == content.as_str() {
                return row.annotation.ok();
            }
            self.waiting.insert(row.path.clone(), row);
        }
        None
    }
}
