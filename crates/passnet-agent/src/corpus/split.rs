//! Keeping evaluation tasks out of training data, and a validation part apart.

use std::collections::{BTreeMap, BTreeSet};

use passnet_eval::Suite;
use passnet_graph::hash;
use passnet_record::{ContentId, GraphId};
use serde::Serialize;

use crate::{
    journal::SCHEMA_VERSION,
    task::{Task, TaskError},
    trajectory::Trajectory,
};

/// What identifies the tasks of evaluation suites.
#[derive(Clone, Debug, Default)]
pub struct EvaluationTasks {
    /// Structural hashes of their graphs.
    hashes: BTreeSet<ContentId>,
    /// Their op sequences.
    ops: BTreeSet<Vec<String>>,
}

/// Why a trajectory belongs to an evaluation suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It was made on a suite whose split is `eval`.
    Split,
    /// A graph has the structure of one of theirs.
    Graph,
    /// Its op sequence is one of theirs.
    Ops,
}

impl EvaluationTasks {
    /// Adds all tasks of a suite.
    ///
    /// # Errors
    /// Where a graph cannot be read: what is not known cannot be kept out.
    pub fn add(&mut self, suite: &Suite) -> Result<(), TaskError> {
        for record in &suite.record.tasks {
            self.ops.insert(record.ops.clone());
            for graph in &record.graphs {
                let id = GraphId { task: record.id.clone(), graph: graph.clone() };
                let sample = passnet_eval::GraphSample::read(&suite.sample_dir(&id), id)
                    .map_err(|error| TaskError::Sample { task: record.id.clone(), source: Box::new(error) })?;
                self.hashes.insert(hash::structural(sample.graph()));
            }
        }
        self.ops.remove(&Vec::new());
        Ok(())
    }

    /// Whether a task is one of theirs.
    pub fn overlap(&self, trajectory: &Trajectory) -> Option<Overlap> {
        if trajectory.split == "eval" {
            Some(Overlap::Split)
        } else if trajectory.task.graph_hashes.iter().any(|hash| self.hashes.contains(hash)) {
            Some(Overlap::Graph)
        } else {
            self.ops.contains(&trajectory.task.ops).then_some(Overlap::Ops)
        }
    }

    /// Whether a task itself, before any attempt, is one of theirs.
    pub fn holds(&self, task: &Task) -> bool {
        let facts = task.facts();
        self.ops.contains(&facts.ops) || facts.graph_hashes.iter().any(|hash| self.hashes.contains(hash))
    }
}

/// Where a trajectory goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Training data.
    Train,
    /// Validation data.
    Validation,
    /// Neither: it is about an evaluation task.
    Excluded(Overlap),
}

/// The result of a split, for the record: that no evaluation task entered, and what was looked at to know it.
#[derive(Clone, Debug, Serialize)]
pub struct SplitReport {
    /// Version of the schema.
    pub schema_version: u32,
    /// Trajectories for training.
    pub train: usize,
    /// Trajectories for validation.
    pub validation: usize,
    /// Trajectories left out, by reason.
    pub excluded: BTreeMap<Overlap, usize>,
    /// Names of the tasks that were left out.
    pub excluded_tasks: BTreeSet<String>,
    /// Structural hashes of evaluation graphs that were compared with.
    pub evaluation_graphs: usize,
    /// Op sequences of evaluation tasks that were compared with.
    pub evaluation_ops: usize,
    /// Hashes that training and evaluation share; 0, counted over what was written.
    pub shared_with_evaluation: usize,
    /// Hashes that training and validation share; 0, counted over what was written.
    pub shared_with_validation: usize,
}

/// Assigns trajectories by their tasks: all attempts at a task, and all tasks that share a graph or an op sequence, go to one
/// side. Two passes: [`Self::learn`] everything, then [`Self::assign`].
#[derive(Debug)]
pub struct Splitter {
    evaluation: EvaluationTasks,
    share: f64,
    /// Group of each key (graph hash or op sequence), by union and find.
    parent: BTreeMap<ContentId, ContentId>,
    train: BTreeSet<ContentId>,
    validation: BTreeSet<ContentId>,
    report: SplitReport,
}

impl Splitter {
    /// `share` of the groups of tasks goes to validation.
    pub fn new(evaluation: EvaluationTasks, share: f64) -> Self {
        let report = SplitReport {
            schema_version: SCHEMA_VERSION,
            train: 0,
            validation: 0,
            excluded: BTreeMap::new(),
            excluded_tasks: BTreeSet::new(),
            evaluation_graphs: evaluation.hashes.len(),
            evaluation_ops: evaluation.ops.len(),
            shared_with_evaluation: 0,
            shared_with_validation: 0,
        };
        let (parent, train, validation) = Default::default();
        Self { evaluation, share, parent, train, validation, report }
    }

    /// Learns which tasks belong together.
    pub fn learn(&mut self, trajectory: &Trajectory) {
        let keys = keys(trajectory);
        let roots: BTreeSet<ContentId> = keys.iter().map(|key| self.root(key)).collect();
        if let Some(first) = roots.first().cloned() {
            for root in roots {
                self.parent.insert(root, first.clone());
            }
        }
    }

    fn root(&mut self, key: &ContentId) -> ContentId {
        let mut at = key.clone();
        loop {
            let parent = self.parent.entry(at.clone()).or_insert_with(|| at.clone()).clone();
            if parent == at {
                break;
            }
            at = parent;
        }
        self.parent.insert(key.clone(), at.clone());
        at
    }

    /// Where a trajectory goes.
    pub fn assign(&mut self, trajectory: &Trajectory) -> Split {
        if let Some(overlap) = self.evaluation.overlap(trajectory) {
            *self.report.excluded.entry(overlap).or_default() += 1;
            self.report.excluded_tasks.insert(trajectory.task.id.clone());
            return Split::Excluded(overlap);
        }
        let keys = keys(trajectory);
        let root = keys.first().map(|key| self.root(key));
        // The root is a hash, so its digits are evenly spread; hashed again, because the least of a group is not.
        let spread = root.map_or(1.0, |root| share_of(&ContentId::of(root.as_str().as_bytes())));
        let hashes = trajectory.task.graph_hashes.iter().cloned();
        if spread < self.share {
            self.validation.extend(hashes);
            self.report.validation += 1;
            Split::Validation
        } else {
            self.train.extend(hashes);
            self.report.train += 1;
            Split::Train
        }
    }

    /// The report, with what was written compared once more.
    pub fn finish(mut self) -> SplitReport {
        let written = self.train.union(&self.validation);
        self.report.shared_with_evaluation = written.filter(|hash| self.evaluation.hashes.contains(*hash)).count();
        self.report.shared_with_validation = self.train.intersection(&self.validation).count();
        self.report
    }
}

fn keys(trajectory: &Trajectory) -> Vec<ContentId> {
    let ops = &trajectory.task.ops;
    let ops = (!ops.is_empty()).then(|| ContentId::of_parts(ops.iter().map(String::as_bytes)));
    ops.into_iter().chain(trajectory.task.graph_hashes.iter().cloned()).collect()
}

/// The first digits of a hash as a number from 0 to 1.
fn share_of(id: &ContentId) -> f64 {
    let digits = id.as_str().get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(u32::MAX);
    f64::from(digits) / f64::from(u32::MAX)
}
