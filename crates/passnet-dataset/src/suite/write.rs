//! Writing of suites to disk.

use crate::{
    Dataset, Table,
    store::{SampleRow, TableError, TaskRow},
};

/// Writes tasks and their graphs in order. The graphs of a task are named `TASK/000`, `TASK/001` ...
pub(super) fn write_suite(
    out: &Dataset,
    split: &str,
    tasks: Vec<(String, Vec<SampleRow>)>,
) -> Result<(String, usize, usize), TableError> {
    let mut graphs = 0;
    let mut subgraphs = out.replace(Table::Subgraphs)?.published();
    let mut table = out.replace(Table::Tasks)?.published();
    let count = tasks.len();
    for (hash, rows) in tasks {
        let ops = rows.first().map(|row| row.ops.clone()).unwrap_or_default();
        let id = task_id(&ops, &hash);
        graphs += rows.len();
        let mut paths = Vec::with_capacity(rows.len());
        for (index, mut row) in rows.into_iter().enumerate() {
            row.path = format!("{id}/{index:03}");
            paths.push(row.path.clone());
            subgraphs.push(row)?;
        }
        table.push(TaskRow { id, split: Some(split.to_owned()), ops, graphs: paths, files: Vec::new() })?;
    }
    subgraphs.finish()?;
    table.finish()?;
    Ok((out.name(), count, graphs))
}

/// Returns the id of a task: the names of the first ops, for people, and the hash of all ops.
fn task_id(ops: &[String], hash: &str) -> String {
    let plain = |op: &String| {
        op.trim_start_matches("Tensor.").chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect::<String>()
    };
    let names: Vec<String> = ops.iter().take(4).map(plain).collect();
    let short = if ops.len() > 4 { format!("{}-{}ops", names.join("-"), ops.len()) } else { names.join("-") };
    format!("{short}-{}", &hash[..8.min(hash.len())])
}
