//! A task as an attempt has it: what the model may see, what it is measured on besides, and what is known of both.

use std::{collections::BTreeSet, sync::OnceLock};

use passnet_eval::{GraphSample, PropagateError, Propagator, Suite};
use passnet_fuse::TypedGraph;
use passnet_graph::hash;
use passnet_record::{ContentId, GraphId, SuiteTask};
use serde::{Deserialize, Serialize};

use crate::tools::facts;

/// A task with its graphs.
#[derive(Debug)]
pub struct Task {
    /// Its name in the suite.
    pub id: String,
    /// Its op sequence.
    pub ops: Vec<String>,
    /// Graphs that the model may see.
    pub visible: Vec<GraphSample>,
    /// Graphs that it must not see; they count at the end.
    pub held_out: Vec<GraphSample>,
    typed: OnceLock<Result<Vec<TypedGraph>, String>>,
}

/// What trajectories say of their task, to tell tasks apart and to keep evaluation tasks out of training data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFacts {
    /// Its name in the suite.
    pub id: String,
    /// Its op sequence.
    pub ops: Vec<String>,
    /// Names of the graphs that the model saw.
    pub visible: Vec<String>,
    /// Number of graphs that it did not see.
    pub held_out: usize,
    /// Structural hashes of all graphs, sorted, each once.
    pub graph_hashes: Vec<ContentId>,
}

/// Why a task cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A graph cannot be read.
    #[error("task `{task}`: {source}")]
    Sample {
        /// The task.
        task: String,
        /// What is wrong.
        source: Box<passnet_python::Error>,
    },
    /// Nothing can be shown.
    #[error("task `{0}` has no graph that may be shown; at least one must not be marked as held out")]
    AllHeldOut(String),
}

impl Task {
    /// Reads the graphs of a task.
    ///
    /// # Errors
    /// Where one of them is malformed, or none may be shown.
    pub fn read(suite: &Suite, task: &SuiteTask) -> Result<Self, TaskError> {
        let read = |graph: &String| {
            let id = GraphId { task: task.id.clone(), graph: graph.clone() };
            GraphSample::read(&suite.sample_dir(&id), id)
                .map_err(|error| TaskError::Sample { task: task.id.clone(), source: Box::new(error) })
        };
        let (held_out, visible): (Vec<&String>, Vec<&String>) =
            task.graphs.iter().partition(|graph| task.held_out.contains(graph));
        if visible.is_empty() {
            return Err(TaskError::AllHeldOut(task.id.clone()));
        }
        Ok(Self {
            id: task.id.clone(),
            ops: task.ops.clone(),
            visible: visible.into_iter().map(read).collect::<Result<_, _>>()?,
            held_out: held_out.into_iter().map(read).collect::<Result<_, _>>()?,
            typed: OnceLock::new(),
        })
    }

    /// All graphs, each with whether it is held out.
    pub fn graphs(&self) -> impl Iterator<Item = (&GraphSample, bool)> {
        self.visible.iter().map(|graph| (graph, false)).chain(self.held_out.iter().map(|graph| (graph, true)))
    }

    /// For the record.
    pub fn facts(&self) -> TaskFacts {
        let hashes: BTreeSet<ContentId> = self.graphs().map(|(graph, _)| hash::structural(graph.graph())).collect();
        TaskFacts {
            id: self.id.clone(),
            ops: self.ops.clone(),
            visible: self.visible.iter().map(|graph| graph.id().graph.clone()).collect(),
            held_out: self.held_out.len(),
            graph_hashes: hashes.into_iter().collect(),
        }
    }

    /// About how long eager mode takes for all of these graphs on one core, in nanoseconds, by round rates: to begin with what
    /// is done soon, for nothing else.
    pub fn rough_time(typed: &[TypedGraph]) -> u64 {
        typed.iter().map(facts::rough_time).sum()
    }

    /// The visible graphs with the types of their values, as PyTorch infers them; asked for once.
    ///
    /// # Errors
    /// Why there are none.
    pub fn typed(&self, propagator: &Propagator) -> Result<&[TypedGraph], &str> {
        let types = |graph| propagator.types(graph).map_err(|error: PropagateError| error.to_string());
        let typed = || self.visible.iter().map(types).collect();
        self.typed.get_or_init(typed).as_deref().map_err(String::as_str)
    }
}
