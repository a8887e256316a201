//! The graphs of a suite in the form that the built-in author needs.

use std::{collections::BTreeMap, time::Instant};

use passnet_fuse::Choices;
use passnet_graph::{Target, TypedGraph};
use passnet_record::{PassDirectory, PlannedCosts, PlannedTask, SCHEMA_VERSION, counted};
use passnet_run::{GraphSample, Suite};
use passnet_services::{Interpreter, PropagateError, propagate};

/// The graphs of a suite with the types of their values on a target. The built-in author uses nothing else.
#[derive(Debug)]
pub struct TypedSuite {
    tasks: BTreeMap<String, TypedTask>,
    target: Target,
}

#[derive(Debug, Default)]
struct TypedTask {
    graphs: Vec<TypedGraph>,
    samples: Vec<GraphSample>,
}

impl TypedSuite {
    /// Computes the types of the visible graphs of a suite. Graphs that cannot be read are left out, because their own evaluation
    /// reports the problem.
    ///
    /// # Errors
    /// If the types of the graphs cannot be computed.
    pub fn of(interpreter: &Interpreter, suite: &Suite, target: Target) -> Result<Self, PropagateError> {
        let mut samples = Vec::new();
        for task in &suite.record.tasks {
            for id in suite.visible(task) {
                samples.extend(GraphSample::read(&suite.sample_dir(&id), id));
            }
        }
        let begin = Instant::now();
        let typed = propagate(interpreter, &samples, target)?;
        tracing::info!("types of {} in {:.1} s", counted(samples.len(), "graph"), begin.elapsed().as_secs_f64());
        let mut tasks: BTreeMap<String, TypedTask> =
            suite.record.tasks.iter().map(|task| (task.id.clone(), TypedTask::default())).collect();
        for (graph, sample) in typed.into_iter().zip(samples) {
            let task = tasks.entry(sample.id().task.clone()).or_default();
            task.graphs.push(graph);
            task.samples.push(sample);
        }
        Ok(Self { tasks, target })
    }

    /// Returns the target of the passes.
    pub const fn target(&self) -> Target {
        self.target
    }

    /// Returns each task with its graphs.
    pub fn tasks(&self) -> impl Iterator<Item = (&str, &[TypedGraph])> {
        self.tasks.iter().map(|(name, task)| (name.as_str(), task.graphs.as_slice()))
    }

    /// Returns the typed graphs of a task.
    pub(crate) fn graphs(&self, task: &str) -> &[TypedGraph] {
        self.tasks.get(task).map_or(&[], |task| &task.graphs)
    }

    /// Returns the samples of a task, one for each of its graphs.
    pub(crate) fn samples(&self, task: &str) -> &[GraphSample] {
        self.tasks.get(task).map_or(&[], |task| &task.samples)
    }

    /// Returns one pass directory per task. It is empty if nothing can be rewritten. Logs the time that each task takes.
    pub fn passes(&self, choices: &Choices) -> BTreeMap<String, PassDirectory> {
        let directory = |(task, graphs): (&str, &[TypedGraph])| {
            let begin = Instant::now();
            let directory = passnet_fuse::write_passes(graphs, self.target, choices);
            let elapsed = begin.elapsed().as_secs_f64() * 1e3;
            tracing::info!("{task}: passes for {} in {elapsed:.1} ms", counted(graphs.len(), "graph"));
            (task.to_owned(), directory)
        };
        self.tasks().map(directory).collect()
    }

    /// Returns, for each task, the plan of its passes in words.
    pub fn plans(&self, choices: &Choices) -> BTreeMap<String, String> {
        let plan = |graphs: &[TypedGraph]| passnet_fuse::explain(graphs, self.target, choices);
        self.tasks().map(|(task, graphs)| (task.to_owned(), plan(graphs))).collect()
    }

    /// Returns, for each task, the places where its passes are applied, with their costs.
    pub fn costs(&self) -> PlannedCosts {
        let task = |(task, graphs): (&str, &[TypedGraph])| PlannedTask {
            task: task.to_owned(),
            parts: passnet_fuse::planned_parts(graphs, self.target),
        };
        PlannedCosts {
            schema_version: SCHEMA_VERSION,
            rates: passnet_fuse::device_rates(self.target),
            tasks: self.tasks().map(task).collect(),
        }
    }
}
