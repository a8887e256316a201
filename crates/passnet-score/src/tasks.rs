use std::collections::BTreeMap;

use crate::GraphOutcome;

/// The graphs of one task, in order of appearance.
pub(crate) struct TaskOutcomes<'a> {
    pub(crate) name: &'a str,
    pub(crate) graphs: Vec<&'a GraphOutcome>,
}

/// Groups graphs by task, with tasks in order of first appearance.
pub(crate) fn by_task(graphs: &[GraphOutcome]) -> Vec<TaskOutcomes<'_>> {
    let mut position = BTreeMap::new();
    let mut tasks: Vec<TaskOutcomes<'_>> = Vec::new();
    for graph in graphs {
        let name = graph.id.task.as_str();
        let index = *position.entry(name).or_insert_with(|| {
            tasks.push(TaskOutcomes { name, graphs: Vec::new() });
            tasks.len() - 1
        });
        tasks[index].graphs.push(graph);
    }
    tasks
}
