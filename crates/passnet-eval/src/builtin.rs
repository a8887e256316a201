//! The passes that the built-in author writes for a suite.

use std::collections::BTreeMap;

use passnet_fuse::{Target, TypedGraph};

use crate::{GraphSample, PassDirectory, PropagateError, propagate, python::Interpreter, suite::Suite};

/// One pass directory per task, empty where there is nothing to gain. Graphs that cannot be read are left out: their own
/// evaluation says what is wrong with them.
///
/// # Errors
/// If the types of the graphs cannot be had.
pub fn write_passes(
    interpreter: &Interpreter,
    suite: &Suite,
    target: Target,
) -> Result<BTreeMap<String, PassDirectory>, PropagateError> {
    let directory = |graphs: &[TypedGraph]| PassDirectory::new(passnet_fuse::author(graphs, target).files);
    by_task(interpreter, suite, target, directory)
}

/// For each task the plan of its passes in words.
///
/// # Errors
/// If the types of the graphs cannot be had.
pub fn explain_passes(
    interpreter: &Interpreter,
    suite: &Suite,
    target: Target,
) -> Result<BTreeMap<String, String>, PropagateError> {
    by_task(interpreter, suite, target, |graphs| passnet_fuse::explain(graphs, target))
}

fn by_task<T>(
    interpreter: &Interpreter,
    suite: &Suite,
    target: Target,
    of: impl Fn(&[TypedGraph]) -> T,
) -> Result<BTreeMap<String, T>, PropagateError> {
    let mut samples = Vec::new();
    for task in &suite.record.tasks {
        for id in suite.visible(task) {
            samples.extend(GraphSample::read(&suite.sample_dir(&id), id));
        }
    }
    let mut typed = propagate(interpreter, &samples, target)?.into_iter().zip(&samples).peekable();
    let mut results = BTreeMap::new();
    for task in &suite.record.tasks {
        let mut graphs = Vec::new();
        while let Some((graph, _)) = typed.next_if(|(_, sample)| sample.id().task == task.id) {
            graphs.push(graph);
        }
        results.insert(task.id.clone(), of(&graphs));
    }
    Ok(results)
}
