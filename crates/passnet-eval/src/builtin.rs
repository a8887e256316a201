//! The passes that the built-in author writes for a suite.

use std::collections::BTreeMap;

use passnet_fuse::{Target, TypedGraph};

use crate::{GraphSample, PassDirectory, PropagateError, propagate, python::Interpreter, suite::Suite};

/// The graphs of a suite with the types of their values on a target: all that the built-in author knows.
#[derive(Debug)]
pub struct TypedSuite {
    tasks: BTreeMap<String, Vec<TypedGraph>>,
    target: Target,
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
        let mut typed = propagate(interpreter, &samples, target)?.into_iter().zip(&samples).peekable();
        let mut tasks = BTreeMap::new();
        for task in &suite.record.tasks {
            let mut graphs = Vec::new();
            while let Some((graph, _)) = typed.next_if(|(_, sample)| sample.id().task == task.id) {
                graphs.push(graph);
            }
            tasks.insert(task.id.clone(), graphs);
        }
        Ok(Self { tasks, target })
    }

    /// One pass directory per task, empty where there is nothing to gain.
    pub fn passes(&self) -> BTreeMap<String, PassDirectory> {
        self.by_task(|graphs| PassDirectory::new(passnet_fuse::author(graphs, self.target).files))
    }

    /// For each task the plan of its passes in words.
    pub fn plans(&self) -> BTreeMap<String, String> {
        self.by_task(|graphs| passnet_fuse::explain(graphs, self.target))
    }

    fn by_task<T>(&self, of: impl Fn(&[TypedGraph]) -> T) -> BTreeMap<String, T> {
        self.tasks.iter().map(|(task, graphs)| (task.clone(), of(graphs))).collect()
    }
}

/// One pass directory per task of a suite, empty where there is nothing to gain.
///
/// # Errors
/// As [`TypedSuite::of`].
pub fn write_passes(
    interpreter: &Interpreter,
    suite: &Suite,
    target: Target,
) -> Result<BTreeMap<String, PassDirectory>, PropagateError> {
    Ok(TypedSuite::of(interpreter, suite, target)?.passes())
}
