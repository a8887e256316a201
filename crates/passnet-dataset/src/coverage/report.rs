//! The report of a search, in the JSON form of `docs/reference/match.md`.

use std::collections::BTreeMap;

use passnet_record::Status;
use serde::Serialize;

use super::{
    conflicts::{Conflict, conflicts},
    corpus::Corpus,
    search::{NamedPattern, Places},
};

/// Version of the JSON form.
pub const COVERAGE_VERSION: u32 = 1;
/// Number of graphs that are named as examples.
const EXAMPLES: usize = 5;

/// Matches of passes in a dataset.
#[derive(Clone, Debug, Serialize)]
pub struct CoverageReport {
    /// [`COVERAGE_VERSION`].
    pub schema_version: u32,
    /// Number of graphs that were searched.
    pub graphs: usize,
    /// Number of models that contain these graphs.
    pub models: usize,
    /// One entry per pass, in the order of directories and of application.
    pub passes: Vec<PassCoverage>,
    /// Pairs of passes that match the same nodes. Their numbers are positions in `passes`.
    pub conflicts: Vec<Conflict>,
    /// Wall time of each step, in seconds.
    pub seconds: Seconds,
}

/// Matches of one pass.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PassCoverage {
    /// Pass directory.
    pub directory: String,
    /// Rule name.
    pub name: String,
    /// Number of calls in the pattern of the pass.
    pub nodes: usize,
    /// Reason why the pattern cannot be searched for, if there is one.
    pub error: Option<String>,
    /// Number of an earlier pass with the same pattern, if there is one.
    pub same_as: Option<usize>,
    /// Number of graphs in which the pattern matches.
    pub graphs: usize,
    /// Number of models that contain those graphs.
    pub models: usize,
    /// Number of matches in all graphs.
    pub matches: usize,
    /// Paths of some of the graphs.
    pub examples: Vec<String>,
    /// Matches by the types of their inputs. The list is empty unless matches were checked.
    pub types: Vec<TypeClass>,
}

/// Matches whose inputs have the same dtypes and layouts.
#[derive(Clone, Debug, Serialize)]
pub struct TypeClass {
    /// Dtype and layout of the value for each parameter of the pattern.
    pub types: String,
    /// Number of matches.
    pub matches: usize,
    /// Number of graphs with such matches.
    pub graphs: usize,
    /// Worst outcome of the judged matches.
    pub outcome: MatchOutcome,
    /// Reason of the worst outcome.
    pub message: Option<String>,
    /// Matches that were judged.
    pub checked: Vec<Checked>,
}

/// One match that was judged.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// Path of the graph.
    pub graph: String,
    /// Names of the matched nodes.
    pub nodes: Vec<String>,
    pub outcome: MatchOutcome,
    /// Reason, if the outcome is not `Sound`.
    pub message: Option<String>,
}

/// Outcome for a match, in order from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchOutcome {
    /// No match was judged.
    Unchecked,
    /// The results equal those of the graph, within tolerance.
    Sound,
    /// There is no verdict on the results.
    Failed,
    /// The pass raises an exception: its preconditions do not hold.
    Refused,
    /// The results are wrong.
    Unsound,
}

impl MatchOutcome {
    /// Returns the outcome for a status of an evaluation without timing.
    pub const fn of(status: Status) -> Self {
        match status {
            Status::Correct | Status::Unstable => Self::Sound,
            // A pass refuses types by raising an exception.
            Status::RuntimeError => Self::Refused,
            Status::Accuracy
            | Status::TypeMismatch
            | Status::ShapeMismatch
            | Status::LayoutDiffers
            | Status::OutputsShareMemory
            | Status::NonFinite => Self::Unsound,
            Status::CompileError
            | Status::NoMatch
            | Status::Integrity
            | Status::Timeout
            | Status::OutOfMemory
            | Status::ReferenceError
            | Status::EagerFail => Self::Failed,
        }
    }
}

/// Wall time in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Seconds {
    /// Time of importing passes.
    pub patterns: f64,
    /// Time of reading and parsing graphs.
    pub read: f64,
    /// Time of changing calls to the form of patterns.
    pub canonical: f64,
    pub search: f64,
    /// Time of judging matches.
    pub check: f64,
}

impl CoverageReport {
    /// Creates the report of a search. `errors` are the patterns that could not be searched for.
    pub fn new(corpus: &Corpus, patterns: &[NamedPattern], places: &[Places], errors: &[(usize, String)]) -> Self {
        let mut by_pattern: Vec<Vec<&Places>> = vec![Vec::new(); patterns.len()];
        for place in places {
            by_pattern[place.pattern].push(place);
        }
        let mut known = BTreeMap::new();
        let passes = patterns.iter().zip(by_pattern).enumerate().map(|(number, (pattern, places))| {
            let text = passnet_graph::hash::structural(&pattern.graph).to_string();
            let first = *known.entry(text).or_insert(number);
            PassCoverage {
                directory: pattern.directory.clone(),
                name: pattern.name.clone(),
                nodes: pattern.graph.num_nodes(),
                error: errors.iter().find(|(failed, _)| *failed == number).map(|(_, message)| message.clone()),
                same_as: (first != number).then_some(first),
                graphs: places.len(),
                models: corpus.models(places.iter().map(|place| &corpus.graphs[place.graph])),
                matches: places.iter().map(|place| place.matches.len()).sum(),
                examples: places.iter().take(EXAMPLES).map(|place| corpus.graphs[place.graph].path.clone()).collect(),
                types: Vec::new(),
            }
        });
        Self {
            schema_version: COVERAGE_VERSION,
            graphs: corpus.graphs.len(),
            models: corpus.models(corpus.graphs.iter()),
            passes: passes.collect(),
            conflicts: conflicts(places),
            seconds: Seconds::default(),
        }
    }

    /// Returns whether some judged match has wrong results.
    pub fn is_unsound(&self) -> bool {
        self.passes.iter().flat_map(|pass| &pass.types).any(|class| class.outcome == MatchOutcome::Unsound)
    }
}
