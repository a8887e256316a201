//! The passes that the built-in author writes for a suite.

use std::collections::BTreeMap;

use passnet_fuse::{Choices, Target, TypedGraph};

use crate::{
    GraphSample, PassDirectory, PropagateError, Referee, propagate, python::Interpreter, suite::Suite, tune::Database,
};

/// The graphs of a suite with the types of their values on a target: all that the built-in author knows.
#[derive(Debug)]
pub struct TypedSuite {
    tasks: BTreeMap<String, Task>,
    target: Target,
}

#[derive(Debug, Default)]
struct Task {
    graphs: Vec<TypedGraph>,
    samples: Vec<GraphSample>,
}

impl TypedSuite {
    /// Finds the types of the visible graphs of a suite. Graphs that cannot be read are left out: their own evaluation says
    /// what is wrong with them.
    ///
    /// # Errors
    /// If the types of the graphs cannot be had.
    pub fn of(interpreter: &Interpreter, suite: &Suite, target: Target) -> Result<Self, PropagateError> {
        let mut samples = Vec::new();
        for task in &suite.record.tasks {
            for id in suite.visible(task) {
                samples.extend(GraphSample::read(&suite.sample_dir(&id), id));
            }
        }
        let typed = propagate(interpreter, &samples, target)?;
        let mut tasks: BTreeMap<String, Task> =
            suite.record.tasks.iter().map(|task| (task.id.clone(), Task::default())).collect();
        for (graph, sample) in typed.into_iter().zip(samples) {
            let task = tasks.entry(sample.id().task.clone()).or_default();
            task.graphs.push(graph);
            task.samples.push(sample);
        }
        Ok(Self { tasks, target })
    }

    /// What the passes are to run on.
    pub const fn target(&self) -> Target {
        self.target
    }

    /// Each task with its graphs.
    pub fn tasks(&self) -> impl Iterator<Item = (&str, &[TypedGraph])> {
        self.tasks.iter().map(|(name, task)| (name.as_str(), task.graphs.as_slice()))
    }

    /// The samples of a task, one for each of its graphs.
    pub(crate) fn samples(&self, task: &str) -> &[GraphSample] {
        self.tasks.get(task).map_or(&[], |task| &task.samples)
    }

    /// One pass directory per task, empty where there is nothing to gain.
    pub fn passes(&self, choices: &Choices) -> BTreeMap<String, PassDirectory> {
        let directory =
            |graphs: &[TypedGraph]| PassDirectory::new(passnet_fuse::author_with(graphs, self.target, choices).files);
        self.tasks().map(|(task, graphs)| (task.to_owned(), directory(graphs))).collect()
    }

    /// For each task the plan of its passes in words.
    pub fn plans(&self, choices: &Choices) -> BTreeMap<String, String> {
        let plan = |graphs: &[TypedGraph]| passnet_fuse::explain(graphs, self.target, choices);
        self.tasks().map(|(task, graphs)| (task.to_owned(), plan(graphs))).collect()
    }
}

/// What the passes of a referee's device are to run on.
pub fn target_of(referee: &Referee) -> Target {
    if referee.settings().device == "cpu" { Target::Cpu } else { Target::Cuda }
}

/// One pass directory per task of a suite for the device of a referee, with what the tuning database knows of it.
///
/// # Errors
/// As [`TypedSuite::of`].
pub fn write_passes(referee: &Referee, suite: &Suite) -> Result<BTreeMap<String, PassDirectory>, PropagateError> {
    let typed = TypedSuite::of(&referee.interpreter(), suite, target_of(referee))?;
    Ok(typed.passes(&known_choices(referee, &typed)))
}

/// What the tuning database in the cache of a referee knows of its device and of the kernels of a suite.
pub fn known_choices(referee: &Referee, suite: &TypedSuite) -> Choices {
    match referee.cache().filter(|cache| Database::has_entries(cache)) {
        Some(cache) => Database::new(cache, referee.fingerprint()).choices(suite),
        None => Choices::new(),
    }
}
