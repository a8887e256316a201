//! Split of trajectories into training and validation data, without evaluation tasks.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::hash;
use passnet_record::{
    ContentId, GraphId,
    agent::{TRAJECTORY_VERSION, Trajectory},
};
use passnet_run::Suite;
use serde::Serialize;

use crate::task::{Task, TaskError};

/// Hashes and op sequences that identify the tasks of evaluation suites.
#[derive(Clone, Debug, Default)]
pub struct EvaluationTasks {
    /// Structural hashes of their graphs.
    hashes: BTreeSet<ContentId>,
    /// Their op sequences.
    ops: BTreeSet<Vec<String>>,
}

/// Reason why a trajectory belongs to an evaluation suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// The suite of the trajectory has the split `eval`.
    Split,
    /// A graph has the structure of an evaluation graph.
    Graph,
    /// The op sequence equals that of an evaluation task.
    Ops,
}

impl EvaluationTasks {
    /// Adds all tasks of a suite.
    ///
    /// # Errors
    /// Fails if a graph cannot be read: an unknown graph cannot be excluded.
    pub fn add(&mut self, suite: &Suite) -> Result<(), TaskError> {
        for record in &suite.record.tasks {
            self.ops.insert(record.ops.clone());
            for graph in &record.graphs {
                let id = GraphId { task: record.id.clone(), graph: graph.clone() };
                let sample = passnet_run::GraphSample::read(&suite.sample_dir(&id), id)
                    .map_err(|error| TaskError::Sample { task: record.id.clone(), source: Box::new(error) })?;
                self.hashes.insert(hash::structural(sample.graph()));
            }
        }
        // A suite may not say the operations of its tasks, and an empty sequence would overlap with all such tasks.
        self.ops.remove(&Vec::new());
        Ok(())
    }

    /// Returns the reason to exclude a trajectory, if there is one.
    pub fn overlap(&self, trajectory: &Trajectory) -> Option<Overlap> {
        if trajectory.setup.split == passnet_record::Split::Eval {
            Some(Overlap::Split)
        } else if trajectory.setup.task.graph_hashes.iter().any(|hash| self.hashes.contains(hash)) {
            Some(Overlap::Graph)
        } else {
            self.ops.contains(&trajectory.setup.task.ops).then_some(Overlap::Ops)
        }
    }

    /// Returns whether a task, before any attempt, overlaps with an evaluation task.
    pub fn holds(&self, task: &Task) -> bool {
        let facts = task.facts();
        self.ops.contains(&facts.ops) || facts.graph_hashes.iter().any(|hash| self.hashes.contains(hash))
    }
}

/// Part of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitPart {
    /// Training data.
    Train,
    /// Validation data.
    Validation,
    /// Excluded: the task is an evaluation task.
    Excluded(Overlap),
}

/// Report of a split: proof that no evaluation task entered, and what it was compared with.
#[derive(Clone, Debug, Serialize)]
pub struct SplitReport {
    /// Version of the schema.
    pub schema_version: u32,
    /// Trajectories for training.
    pub train: usize,
    /// Trajectories for validation.
    pub validation: usize,
    /// Excluded trajectories by reason.
    pub excluded: BTreeMap<Overlap, usize>,
    /// Names of the excluded tasks.
    pub excluded_tasks: BTreeSet<String>,
    /// Number of structural hashes of evaluation graphs in the comparison.
    pub evaluation_graphs: usize,
    /// Number of op sequences of evaluation tasks in the comparison.
    pub evaluation_ops: usize,
    /// Number of hashes that the written parts share with evaluation; must be 0.
    pub shared_with_evaluation: usize,
    /// Number of hashes that training and validation share; must be 0.
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
    /// Creates a splitter that assigns a `share` of the groups of tasks, 0 to 1, to validation.
    pub fn new(evaluation: EvaluationTasks, share: f64) -> Self {
        let report = SplitReport {
            schema_version: TRAJECTORY_VERSION,
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

    /// Groups the task of a trajectory with the tasks that share a graph or an op sequence.
    pub fn learn(&mut self, trajectory: &Trajectory) {
        let keys = keys(trajectory);
        // A trajectory joins all groups that it touches, because a graph shared with either side would leak.
        let roots: BTreeSet<ContentId> = keys.iter().map(|key| self.root(key)).collect();
        if let Some(first) = roots.first().cloned() {
            for root in roots {
                // The least root leads, so that groups do not depend on the order of trajectories.
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
        // Path compression for the one key that was asked for; groups are small.
        self.parent.insert(key.clone(), at.clone());
        at
    }

    /// Assigns a trajectory to a part.
    pub fn assign(&mut self, trajectory: &Trajectory) -> SplitPart {
        if let Some(overlap) = self.evaluation.overlap(trajectory) {
            *self.report.excluded.entry(overlap).or_default() += 1;
            self.report.excluded_tasks.insert(trajectory.setup.task.id.clone());
            return SplitPart::Excluded(overlap);
        }
        let keys = keys(trajectory);
        let root = keys.first().map(|key| self.root(key));
        // The root is the least hash of a group, so it is not uniform; hashing it again makes it so.
        let spread = root.map_or(1.0, |root| share_of(&ContentId::of(root.as_str().as_bytes())));
        let hashes = trajectory.setup.task.graph_hashes.iter().cloned();
        if spread < self.share {
            self.validation.extend(hashes);
            self.report.validation += 1;
            SplitPart::Validation
        } else {
            self.train.extend(hashes);
            self.report.train += 1;
            SplitPart::Train
        }
    }

    /// Returns the report, after comparing the written parts once more.
    pub fn finish(mut self) -> SplitReport {
        // Compared with what was really written, not with the decisions above: the report is the proof, so it must
        // not share their mistakes.
        let written = self.train.union(&self.validation);
        self.report.shared_with_evaluation = written.filter(|hash| self.evaluation.hashes.contains(*hash)).count();
        self.report.shared_with_validation = self.train.intersection(&self.validation).count();
        self.report
    }
}

fn keys(trajectory: &Trajectory) -> Vec<ContentId> {
    let ops = &trajectory.setup.task.ops;
    let ops = (!ops.is_empty()).then(|| ContentId::of_parts(ops.iter().map(String::as_bytes)));
    ops.into_iter().chain(trajectory.setup.task.graph_hashes.iter().cloned()).collect()
}

/// Returns the first digits of a hash as a number from 0 to 1.
fn share_of(id: &ContentId) -> f64 {
    let digits = id.as_str().get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(u32::MAX);
    f64::from(digits) / f64::from(u32::MAX)
}
