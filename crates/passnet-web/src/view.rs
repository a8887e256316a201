//! Data of pages: runs and the files that belong to them.

use std::collections::BTreeMap;

use passnet_graph::Graph;
use passnet_record::{ContentId, CurveEvent, GraphId, RunHeader, SourceFile, TrainingScores, Verdict};
use passnet_score::ScoreReport;

/// One run: header, verdicts and scores.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    /// The run's header.
    pub header: RunHeader,
    /// One verdict per graph that is done; of repeated ones the last.
    pub verdicts: Vec<Verdict>,
    /// Scores computed from them.
    pub score: ScoreReport,
    /// Pass directories by task, the last of each task.
    pub passes: Vec<PassSet>,
    /// Source of the run.
    pub origin: Origin,
}

impl RunView {
    /// Returns the name of the author for people: that of the run's description, else that of the author.
    pub fn author_name(&self) -> String {
        match self.header.metadata.name.as_str() {
            "" => self.header.author.to_string(),
            name => name.to_owned(),
        }
    }

    /// True if the author submitted no passes: eager mode or a compiler, which others are compared with.
    pub fn has_no_passes(&self) -> bool {
        self.passes.is_empty()
    }

    /// Returns whether every planned graph has a verdict.
    pub fn is_complete(&self) -> bool {
        self.verdicts.len() >= self.header.graphs
    }

    /// Sum of the wall time of all evaluations, in nanoseconds.
    pub fn cost_ns(&self) -> u64 {
        self.verdicts.iter().map(|verdict| verdict.cost.wall_ns).sum()
    }

    /// Cost of all evaluations in US dollars: their wall time at the price that the run states. `None` without a price.
    pub fn evaluation_usd(&self) -> Option<f64> {
        let price = self.header.metadata.device_usd_per_hour.filter(|price| (0.0..f64::INFINITY).contains(price))?;
        Some(price * self.cost_ns() as f64 / 3.6e12)
    }

    /// Cost of the run in US dollars: evaluations, and the tokens of a language model. `None` if one of them is not known.
    pub fn cost_usd(&self) -> Option<f64> {
        let writing = match self.header.metadata.writing {
            Some(writing) => writing.usd.filter(|usd| (0.0..f64::INFINITY).contains(usd))?,
            // A log from before version 0.3 does not contain the use of its model.
            None if self.header.author.names_model() => return None,
            None => 0.0,
        };
        Some(self.evaluation_usd()? + writing)
    }
}

/// Source of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// A run directory of this machine.
    #[default]
    Directory,
    /// A bundle whose hashes were verified.
    Bundle {
        /// Id of the bundle.
        id: ContentId,
    },
}

/// The pass directory of a task, as logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassSet {
    pub task: String,
    /// Content id of the directory.
    pub id: ContentId,
    pub files: Vec<SourceFile>,
}

/// A file of a pass directory with its lint findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassText {
    /// Path inside the directory.
    pub path: String,
    /// Text; `None` if the blob is missing or is not text.
    pub text: Option<String>,
    /// Violations of the integrity rules, in order of lines.
    pub findings: Vec<LintFinding>,
}

/// A violation of an integrity rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintFinding {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// Rule id and name.
    pub rule: String,
    pub message: String,
    /// Advice to fix it.
    pub help: String,
}

/// Every trial time of one measurement, in order, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trials {
    pub eager: Vec<u64>,
    /// The candidate's path without rewriting.
    pub control: Vec<u64>,
    pub candidate: Vec<u64>,
}

/// A graph of a suite, for drawing.
#[derive(Clone, Debug)]
pub struct GraphView {
    /// The graph as captured.
    pub graph: Graph,
    /// Types of its values, inputs first, as short text such as `f32[4, 128]`; `None` if unknown.
    pub types: Vec<Option<String>>,
    /// Text of `model.py`.
    pub source: String,
    /// Model that the graph was captured from; empty if unknown.
    pub model: String,
}

/// The smallest part of a graph that fails, as `passnet bisect` saves it.
#[derive(Clone, Debug)]
pub struct BisectedView {
    /// The graph that it is a part of.
    pub id: GraphId,
    /// The author that fails on it.
    pub author: String,
    /// Name of the status of its verdict.
    pub status: String,
    /// Code of the reason; empty without one.
    pub code: String,
    /// Message of the reason.
    pub message: String,
    /// Number of nodes of the graph that it is a part of.
    pub whole: usize,
    /// No single node can be left out.
    pub is_minimal: bool,
    /// The part itself.
    pub part: GraphView,
}

/// Source of the data that is not in run logs. Implementations read files; this crate does not.
pub trait Archive {
    /// Files of a pass directory of the run at that index.
    fn passes(&self, run: usize, set: &PassSet) -> Vec<PassText>;
    /// Trial times that a timing of the run at that index refers to; `None` if they were not kept.
    fn trials(&self, run: usize, raw: &ContentId) -> Option<Trials>;
    /// Returns a graph of a suite; `None` if the suite is not available.
    fn graph(&self, suite: &str, version: &str, id: &GraphId) -> Option<GraphView>;
    /// Returns the graph of a `model.py`; `None` if it is not a straight-line graph.
    fn parsed(&self, text: &str) -> Option<Graph>;
    /// Returns a rewritten graph, from its Python text; `None` if it is not a straight-line graph.
    fn rewritten(&self, text: &str) -> Option<Graph>;
}

/// Counts over a dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatasetView {
    /// Name of its folder.
    pub name: String,
    /// Counts by table.
    pub tables: Vec<TableView>,
}

/// Counts over one table of a dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableView {
    /// `graphs`, `subgraphs` ...
    pub name: String,
    /// Number of rows.
    pub rows: usize,
    /// Groups of counts: title, then name and count, in the order to be shown.
    pub groups: Vec<(String, Vec<(String, usize)>)>,
    /// Rows for looking up, as many as the site shows.
    pub samples: Vec<SampleLine>,
    /// Parts that could not be read, with why.
    pub failures: Vec<String>,
}

/// One sample of a dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleLine {
    pub path: String,
    /// Library it comes from.
    pub source: String,
    /// Number of ops.
    pub ops: usize,
    /// The distinct ops, most frequent first.
    pub op_names: String,
    /// Model that it was captured from; empty if unknown.
    pub model: String,
    /// Field of use; empty if unknown.
    pub domain: String,
    /// Types of its inputs as short text such as `f32[4, 128]`, in order.
    pub inputs: Vec<String>,
    /// Text of `model.py`; empty if it is too long to be shown.
    pub text: String,
    /// Features by which it is compared with others: ids, ascending, and their weights. The squares of the weights add up to 1.
    pub features: Vec<(u32, f32)>,
}

/// A conversation of an author about one task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrajectoryView {
    /// Name for people.
    pub name: String,
    pub task: String,
    /// The model that wrote it.
    pub model: String,
    /// Facts: name and value.
    pub facts: Vec<(String, String)>,
    /// Messages in order.
    pub turns: Vec<Turn>,
    /// Score after each evaluation: step and score.
    pub scores: Vec<(usize, f64)>,
    /// End of the conversation, in one word.
    pub outcome: String,
}

/// A training run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingView {
    /// Name of its folder.
    pub name: String,
    /// Events of the curve, in order.
    pub events: Vec<CurveEvent>,
    /// Scores of its checkpoints, and of authors to compare them with, by author.
    pub scores: BTreeMap<String, TrainingScores>,
}

/// One message of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// `system`, `user`, `assistant`, `tool`.
    pub role: String,
    /// Step of the episode it belongs to.
    pub step: usize,
    pub text: String,
    /// Calls of tools: name and arguments.
    pub calls: Vec<(String, String)>,
}
