//! Plans of suites, their limits, and the result of building them.

use std::collections::BTreeMap;

use super::{class::Shares, split::Split};
use crate::{SkippedData, cut::CastRule, phase::Phase, store::GraphKind};

#[derive(Clone, Debug)]
pub struct SuitePlan {
    /// Name of the suite and of its folder, e.g. `passbench-f`.
    pub name: String,
    pub kind: GraphKind,
    /// Phase of the full graphs from which the suite's graphs are cut.
    pub phase: Phase,
    /// Number of tasks.
    pub tasks: usize,
    /// Largest number of graphs of a task, variants included.
    pub graphs: usize,
}

/// Default share of models for evaluation.
pub const EVALUATED: f64 = 0.3;

/// Limits of all suites.
#[derive(Clone, Debug)]
pub struct SuiteLimits {
    /// Largest number of bytes of the inputs and values of a graph. It is low enough for suites to run on any machine.
    pub max_bytes: u64,
    /// Largest number of graphs of a training task.
    pub train_graphs: usize,
    /// Rule that decides the dtypes of variants.
    pub casts: CastRule,
    /// Beginnings of paths of full graphs that are for training only.
    pub training: Vec<String>,
    /// Unit of full graphs that is kept on one side, evaluation or training.
    pub split: Split,
    /// False if only the suites for evaluation are wanted. The training split takes most of the time.
    pub training_split: bool,
    /// Share of the models or families that are for evaluation. It has no effect if single graphs are split.
    pub evaluated: f64,
    /// Shares of trivial tasks, of language models and of tasks with several structures in each suite.
    pub shares: Shares,
}

impl Default for SuiteLimits {
    /// Returns 16 MiB, four graphs, dtypes by provenance, all graphs for evaluation and training, and the default shares.
    fn default() -> Self {
        Self {
            max_bytes: 16 << 20,
            train_graphs: 4,
            casts: CastRule::default(),
            training: Vec::new(),
            split: Split::Place,
            training_split: true,
            evaluated: EVALUATED,
            shares: Shares::default(),
        }
    }
}

impl SuiteLimits {
    pub(super) fn only_trains(&self, path: &str) -> bool {
        let is_named = self.training.iter().any(|prefix| path.starts_with(prefix));
        is_named || self.split.evaluates(path, self.evaluated) == Some(false)
    }

    pub(super) fn only_evaluates(&self, path: &str) -> bool {
        self.split.evaluates(path, self.evaluated) == Some(true) && !self.only_trains(path)
    }
}

/// Result of building suites.
#[derive(Debug, Default)]
pub struct Built {
    /// Name of each suite with its numbers of tasks and graphs. The training split is last.
    pub suites: Vec<(String, usize, usize)>,
    /// Number of graphs that were proven not to run, by reason.
    pub refused: BTreeMap<String, usize>,
    /// Sentences about shares that a suite does not reach.
    pub notes: Vec<String>,
    /// Files and rows that could not be read.
    pub failures: Vec<SkippedData>,
}
