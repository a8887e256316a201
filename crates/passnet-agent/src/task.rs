//! Tasks: the graphs that a model may see, and the held-out ones.

use std::{collections::BTreeSet, sync::OnceLock};

use passnet_graph::{TypedGraph, hash};
use passnet_record::{ContentId, GraphId, SuiteTask, agent::TaskFacts};
use passnet_run::{GraphSample, Suite};
use passnet_services::{PropagateError, Propagator};

use crate::graph_facts;

/// A task with its graphs.
#[derive(Debug)]
pub struct Task {
    /// Name in the suite.
    pub id: String,
    /// Op sequence.
    pub ops: Vec<String>,
    /// Graphs that the model may see.
    pub visible: Vec<GraphSample>,
    /// Held-out graphs: never shown, measured at the end.
    pub held_out: Vec<GraphSample>,
    /// Speed-up of passes that exist already, as a factor of eager mode; `None` if there are none.
    pub to_beat: Option<f64>,
    typed: OnceLock<Result<Vec<TypedGraph>, String>>,
}

/// Error of reading a task.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A graph cannot be read.
    #[error("task `{task}`: {source}")]
    Sample {
        /// Name of the task.
        task: String,
        /// Cause.
        source: Box<passnet_graphnet::Error>,
    },
    /// All graphs are held out.
    #[error("task `{0}` has no graph that may be shown; at least one must not be marked as held out")]
    AllHeldOut(String),
}

impl Task {
    /// Reads the graphs of a task.
    ///
    /// # Errors
    /// Fails if a graph is malformed or all graphs are held out.
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
            to_beat: None,
            typed: OnceLock::new(),
        })
    }

    /// Returns all graphs; true marks the held-out ones.
    pub fn graphs(&self) -> impl Iterator<Item = (&GraphSample, bool)> {
        self.visible.iter().map(|graph| (graph, false)).chain(self.held_out.iter().map(|graph| (graph, true)))
    }

    /// Returns the facts for the record.
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

    /// Estimates the time of eager mode for these graphs on one core, in nanoseconds, from round rates. It serves to sort tasks.
    pub fn rough_time(typed: &[TypedGraph]) -> u64 {
        typed.iter().map(graph_facts::rough_time).sum()
    }

    /// Returns the visible graphs with the types of their values, as PyTorch infers them. The result is computed once.
    ///
    /// # Errors
    /// Returns the reason why types cannot be inferred.
    pub fn typed(&self, propagator: &Propagator) -> Result<&[TypedGraph], &str> {
        let types = |graph| propagator.types(graph).map_err(|error: PropagateError| error.to_string());
        let typed = || self.visible.iter().map(types).collect();
        self.typed.get_or_init(typed).as_deref().map_err(String::as_str)
    }
}
