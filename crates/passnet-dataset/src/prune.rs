//! Removes those graphs from a suite whose results cannot show whether a candidate is correct.

use std::collections::BTreeSet;

use crate::{
    Dataset, Table,
    import::parse,
    store::{SampleRow, TableError, TaskRow},
};

/// Result of pruning a suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Paths of the graphs that were removed, with the reasons.
    pub graphs: Vec<(String, String)>,
    /// Names of the tasks that had no other graphs.
    pub tasks: Vec<String>,
}

/// Removes graphs that return no computed value and change no input, and graphs most of whose calls have no effect on returned
/// values or changed inputs ([`passnet_graph::Graph::unseen`]). Tasks without remaining graphs are removed as well. Other graphs
/// and tasks keep their names. `out` may be the suite itself.
///
/// # Errors
/// If a row cannot be read or written. The suite is then unchanged.
pub fn prune(suite: &Dataset, out: &Dataset) -> Result<Pruned, TableError> {
    let mut pruned = Pruned::default();
    let mut kept = out.replace(Table::Subgraphs)?.published();
    for row in suite.read::<SampleRow>(Table::Subgraphs)? {
        let row = row?;
        // A graph that cannot be parsed stays; it is reported when it is used.
        let unseen = parse(&row.path, &row.files).ok().and_then(|sample| sample.graph.unseen());
        match unseen {
            Some(unseen) => pruned.graphs.push((row.path, unseen.to_string())),
            None => kept.push(row)?,
        }
    }
    let removed: BTreeSet<&str> = pruned.graphs.iter().map(|(path, _)| path.as_str()).collect();
    let mut tasks = out.replace(Table::Tasks)?.published();
    for task in suite.read::<TaskRow>(Table::Tasks)? {
        let mut task = task?;
        task.graphs.retain(|path| !removed.contains(path.as_str()));
        if task.graphs.is_empty() {
            pruned.tasks.push(task.id);
        } else {
            tasks.push(task)?;
        }
    }
    // Both tables are complete before either of them is put in place, so that an error leaves the suite consistent.
    kept.finish()?;
    tasks.finish()?;
    Ok(pruned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SampleFiles;

    const WEIGHT_META: &str = "\
class Program_weight_tensor_meta_in_0:
    name = 'in_0'
    shape = [4]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 1.0
";

    /// Returns a graph that computes something and returns a value.
    fn model(returned: &str) -> String {
        format!(
            "import torch\nclass GraphModule(torch.nn.Module):\n    def forward(self, in_0):\n        \
             tmp_0 = torch.nn.functional.relu(in_0, inplace=False)\n        return ({returned},)\n"
        )
    }

    fn row(path: &str, returned: &str) -> SampleRow {
        let mut files = SampleFiles::default();
        files.insert("model.py".to_owned(), model(returned).into_bytes());
        files.insert("weight_meta.py".to_owned(), WEIGHT_META.as_bytes().to_vec());
        SampleRow { path: path.to_owned(), files, ..SampleRow::default() }
    }

    #[test]
    fn graphs_without_visible_results_leave_with_their_tasks() {
        let folder = tempfile::tempdir().unwrap();
        let suite = Dataset::at(folder.path().join("suite"));
        let mut graphs = suite.replace(Table::Subgraphs).unwrap();
        for (path, returned) in [("a/000", "tmp_0"), ("a/001", "in_0"), ("b/000", "in_0")] {
            graphs.push(row(path, returned)).unwrap();
        }
        graphs.finish().unwrap();
        let mut tasks = suite.replace(Table::Tasks).unwrap();
        for (id, paths) in [("a", ["a/000", "a/001"].as_slice()), ("b", &["b/000"])] {
            let graphs = paths.iter().map(|&path| path.to_owned()).collect();
            tasks.push(TaskRow { id: id.to_owned(), graphs, ..TaskRow::default() }).unwrap();
        }
        tasks.finish().unwrap();

        let pruned = prune(&suite, &suite).unwrap();
        let removed: Vec<&str> = pruned.graphs.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!((removed, pruned.tasks), (vec!["a/001", "b/000"], vec!["b".to_owned()]));
        let left: Vec<TaskRow> = suite.read(Table::Tasks).unwrap().map(Result::unwrap).collect();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].graphs, ["a/000"]);
        let rows: Vec<SampleRow> = suite.read(Table::Subgraphs).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.iter().map(|row| row.path.as_str()).collect::<Vec<_>>(), ["a/000"]);
        assert_eq!(prune(&suite, &suite).unwrap(), Pruned::default());
    }
}
