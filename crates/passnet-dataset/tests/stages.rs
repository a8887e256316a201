//! The stages of a dataset on small graphs, and on the public tasks where they are available.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod models;
mod shared_data;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use models::write_model;
use parquet::file::reader::{FileReader, SerializedFileReader};
use passnet_dataset::{
    Dataset, Table,
    curate::curate,
    dedup::dedup,
    fold::CanonicalSettings,
    hashes::Rung,
    import::{export, import_graphs, import_tasks},
    mine::{Method, mine},
    query::{Filter, query, stats},
    store::{GraphKind, SampleRow, TaskRow},
};
use passnet_record::DType;

/// All files below a folder with their content.
fn tree(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

fn rows(dataset: &Dataset, table: Table) -> Vec<SampleRow> {
    dataset.read(table).unwrap().map(Result::unwrap).collect()
}

#[test]
fn an_empty_import_is_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir_all(scratch.path().join("samples/empty")).unwrap();
    let dataset = Dataset::at(scratch.path().join("dataset"));
    let error = import_graphs(&dataset, &scratch.path().join("samples")).unwrap_err();
    assert!(error.to_string().contains("no samples found"), "{error}");
}

#[test]
fn import_continues_and_export_gives_the_same_folders() {
    let scratch = tempfile::tempdir().unwrap();
    let samples = scratch.path().join("samples");
    let dataset = Dataset::at(scratch.path().join("dataset"));
    write_model(&samples, "a/one", "v", 2, 8);
    fs::create_dir_all(samples.join("broken")).unwrap();
    fs::write(samples.join("broken/model.py"), "import os\n").unwrap();
    fs::write(samples.join("broken/weight_meta.py"), "").unwrap();
    let first = import_graphs(&dataset, &samples).unwrap();
    assert_eq!((first.samples, first.present, first.failures.len()), (1, 0, 1));
    assert!(first.failures[0].message.starts_with("broken/model.py:"), "{}", first.failures[0].message);

    fs::remove_dir_all(samples.join("broken")).unwrap();
    write_model(&samples, "b", "v", 3, 8);
    fs::write(samples.join("b/notes.txt"), "by hand").unwrap();
    let second = import_graphs(&dataset, &samples).unwrap();
    assert_eq!((second.samples, second.present, second.failures.len()), (1, 1, 0));
    assert_eq!(rows(&dataset, Table::Graphs).iter().map(|row| row.path.as_str()).collect::<Vec<_>>(), ["a/one", "b"]);

    let out = scratch.path().join("out");
    assert_eq!(export(&dataset, Table::Graphs, &out).unwrap().samples, 2);
    assert_eq!(tree(&out), tree(&samples));
}

#[test]
fn import_restores_what_is_damaged_and_removes_leftovers() {
    let scratch = tempfile::tempdir().unwrap();
    let (samples, root) = (scratch.path().join("samples"), scratch.path().join("dataset"));
    let dataset = Dataset::at(&root);
    for (index, name) in ["a", "b", "c"].into_iter().enumerate() {
        write_model(&samples, name, "v", 1 + index, 8);
    }
    import_graphs(&dataset, &samples).unwrap();
    let part = root.join("graphs/part-00000.parquet");
    let sums = fs::read_to_string(root.join("graphs/_SHA256SUMS")).unwrap();
    assert!(sums.ends_with("  part-00000.parquet\n"), "{sums}");
    // A byte in the middle of a column, and what killed commands leave.
    let mut bytes = fs::read(&part).unwrap();
    bytes[200..260].fill(0x55);
    fs::write(&part, &bytes).unwrap();
    for name in [".incomplete-abc", "waiting-00007.parquet"] {
        fs::write(root.join("graphs").join(name), "half").unwrap();
    }
    assert_eq!(dataset.find_altered(Table::Graphs).unwrap(), [part.as_path()]);
    let again = import_graphs(&dataset, &samples).unwrap();
    assert_eq!((again.repaired.len(), again.samples + again.present), (1, 3));
    assert_eq!(again.repaired[0].kept, again.present);
    assert!(again.failures.is_empty(), "{:?}", again.failures);
    let mut paths: Vec<String> = rows(&dataset, Table::Graphs).into_iter().map(|row| row.path).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["a", "b", "c"]);
    let mut left: Vec<String> =
        fs::read_dir(root.join("graphs")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    left.retain(|name| !name.starts_with("part-"));
    left.sort_unstable();
    assert_eq!(left, ["_SHA256SUMS", "damaged-00000.parquet"]);
    assert!(dataset.find_altered(Table::Graphs).unwrap().is_empty());
    assert!(import_graphs(&dataset, &samples).unwrap().repaired.is_empty());
}

#[test]
fn a_replacement_that_was_interrupted_is_completed() {
    let scratch = tempfile::tempdir().unwrap();
    let (samples, root) = (scratch.path().join("samples"), scratch.path().join("dataset"));
    let dataset = Dataset::at(&root);
    write_model(&samples, "a", "v", 1, 8);
    import_graphs(&dataset, &samples).unwrap();
    // The command ended between the list of its steps and the first of them.
    let folder = root.join("graphs");
    fs::copy(folder.join("part-00000.parquet"), folder.join("waiting-00000.parquet")).unwrap();
    fs::write(folder.join("part-00000.parquet"), "old").unwrap();
    fs::write(folder.join("part-00001.parquet"), "old").unwrap();
    fs::write(folder.join(".replacing.json"), r#"{"damaged": [], "written": [0], "removed": [1]}"#).unwrap();
    drop(dataset.append::<SampleRow>(Table::Graphs).unwrap());
    assert_eq!(rows(&dataset, Table::Graphs).len(), 1);
    assert!(!folder.join(".replacing.json").exists() && !folder.join("part-00001.parquet").exists());
    assert!(dataset.find_altered(Table::Graphs).unwrap().is_empty());
}

#[test]
fn paths_that_lead_out_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let dataset = Dataset::at(scratch.path().join("dataset"));
    let mut writer = dataset.append(Table::Graphs).unwrap();
    writer.push(SampleRow { path: "../outside".to_owned(), ..SampleRow::default() }).unwrap();
    writer.finish().unwrap();
    let error = export(&dataset, Table::Graphs, &scratch.path().join("out")).unwrap_err();
    assert!(error.to_string().starts_with("`../outside` is not a plain relative path"), "{error}");
}

#[test]
fn duplicates_go_and_leave_their_paths() {
    let scratch = tempfile::tempdir().unwrap();
    let samples = scratch.path().join("samples");
    let dataset = Dataset::at(scratch.path().join("dataset"));
    write_model(&samples, "a", "v", 2, 8);
    write_model(&samples, "b", "other", 2, 8);
    write_model(&samples, "c", "v", 2, 16);
    import_graphs(&dataset, &samples).unwrap();
    let found = dedup(&dataset, Table::Graphs, Rung::Structure, &dataset).unwrap();
    assert_eq!(found.distinct.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [3, 2, 2, 1, 1]);
    assert_eq!(found.kept, 2);
    let rows = rows(&dataset, Table::Graphs);
    assert_eq!(rows.iter().map(|row| row.path.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(rows[0].duplicates, ["b"]);
}

#[test]
fn dedup_that_was_killed_between_two_files_continues() {
    let scratch = tempfile::tempdir().unwrap();
    let dataset = Dataset::at(scratch.path().join("dataset"));
    for path in ["gone", "a", "b"] {
        let samples = scratch.path().join(path);
        write_model(&samples, path, path, 2, 8);
        import_graphs(&dataset, &samples).unwrap();
    }
    let parts = dataset.parts(Table::Graphs).unwrap();
    // Numbers need not begin with 0: a file may have been taken away.
    fs::remove_file(&parts[0]).unwrap();
    let second = fs::read(&parts[2]).unwrap();
    dedup(&dataset, Table::Graphs, Rung::Typed, &dataset).unwrap();
    assert_eq!(dataset.parts(Table::Graphs).unwrap(), parts[1..2]);
    fs::write(&parts[2], second).unwrap();
    let found = dedup(&dataset, Table::Graphs, Rung::Typed, &dataset).unwrap();
    assert_eq!((found.rows, found.kept), (2, 1));
    let rows = rows(&dataset, Table::Graphs);
    assert_eq!((rows[0].path.as_str(), rows[0].duplicates.as_slice()), ("a", &["b".to_owned()][..]));
}

#[test]
fn the_next_of_equal_samples_stands_for_a_damaged_one() {
    let scratch = tempfile::tempdir().unwrap();
    let dataset = Dataset::at(scratch.path().join("dataset"));
    // Three files: two of equal graphs, one of another.
    for (path, width) in [("a", 8), ("b", 8), ("c", 16)] {
        let samples = scratch.path().join(path);
        write_model(&samples, path, path, 2, width);
        import_graphs(&dataset, &samples).unwrap();
    }
    let parts = dataset.parts(Table::Graphs).unwrap();
    let mut bytes = fs::read(&parts[0]).unwrap();
    let reader = SerializedFileReader::new(fs::File::open(&parts[0]).unwrap()).unwrap();
    let columns = reader.metadata().row_group(0).columns();
    let column = columns.iter().find(|column| column.column_path().string() == "model_py").unwrap();
    let (start, length) = column.byte_range();
    bytes[start as usize..(start + length) as usize].fill(0x55);
    fs::write(&parts[0], &bytes).unwrap();

    let found = dedup(&dataset, Table::Graphs, Rung::Structure, &dataset).unwrap();
    assert_eq!((found.rows, found.kept, found.failures.len()), (3, 2, 1));
    assert!(found.failures[0].message.contains("part-00000.parquet: row group 0 (rows 0..1)"), "{:?}", found.failures);
    let rows = rows(&dataset, Table::Graphs);
    let mut lineage: Vec<_> = rows.iter().map(|row| (row.path.as_str(), row.duplicates.as_slice())).collect();
    lineage.sort_unstable();
    assert_eq!(lineage, [("b", &["a".to_owned()][..]), ("c", &[])]);
    // A file that cannot be read is not deleted.
    assert_eq!(fs::read(parts[0].with_file_name("damaged-00000.parquet")).unwrap(), bytes);
}

#[test]
fn subgraphs_are_mined_grouped_and_split_without_a_leak() {
    let scratch = tempfile::tempdir().unwrap();
    let samples = scratch.path().join("samples");
    let dataset = Dataset::at(scratch.path().join("dataset"));
    write_model(&samples, "a", "v", 6, 8);
    write_model(&samples, "b", "other", 9, 16);
    import_graphs(&dataset, &samples).unwrap();

    let mined = mine(&dataset, Method::Canonical(CanonicalSettings::default()), &dataset).unwrap();
    assert_eq!((mined.graphs, mined.ops, mined.failures.len()), (2, 60, 0));
    assert_eq!(mined.covered, 60);
    let subgraphs = rows(&dataset, Table::Subgraphs);
    assert_eq!(subgraphs.len(), mined.subgraphs);
    // Both graphs have the same layers except for their width; the first layer reads `x` where the others read the last sum.
    assert!(subgraphs.iter().all(|row| row.ops == ["linear", "relu", "Tensor.view", "add"]), "{subgraphs:?}");
    assert_eq!(subgraphs.iter().map(|row| row.origins.len()).sum::<usize>(), mined.ranges);

    let mined = mine(&dataset, Method::SingleOps, &dataset).unwrap();
    assert_eq!((mined.covered, mined.ranges), (60, 60));
    let curated = curate(&dataset, 2).unwrap();
    // The classical subgraphs stay next to the single ops: their one op sequence is a task too.
    assert_eq!((curated.eval, curated.train, curated.withheld), (2, 3, 0));
    let tasks: Vec<TaskRow> = dataset.read(Table::Tasks).unwrap().map(Result::unwrap).collect();
    assert!(tasks.iter().all(|task| [1, 4].contains(&task.ops.len()) && !task.graphs.is_empty()));
}

#[test]
fn queries_and_counts() {
    let scratch = tempfile::tempdir().unwrap();
    let samples = scratch.path().join("samples");
    let dataset = Dataset::at(scratch.path().join("dataset"));
    write_model(&samples, "small", "v", 1, 8);
    write_model(&samples, "large", "v", 2, 1024);
    import_graphs(&dataset, &samples).unwrap();
    let paths = |filter: Filter| -> Vec<String> {
        query(&dataset, Table::Graphs, filter).unwrap().map(|row| row.unwrap().path).collect()
    };
    let large = Filter { dtype: Some(DType::Float16), min_input_bytes: Some(1 << 20), ..Filter::default() };
    assert_eq!(paths(large), ["large"]);
    assert_eq!(paths(Filter { ops: vec!["relu".to_owned()], max_ops: Some(4), ..Filter::default() }), ["small"]);
    assert!(paths(Filter { kind: Some(GraphKind::Fusible), ..Filter::default() }).is_empty());
    let stats = stats(&dataset, Table::Graphs).unwrap();
    assert_eq!((stats.samples, stats.ops, stats.by_op["relu"], stats.by_source["tests"]), (2, 12, 3, 2));
    assert_eq!(stats.by_dtype[&DType::Float16], 4);
}

#[test]
fn upstream_task_folders_come_back_as_they_were() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("suite");
    write_model(&root, "graphs/one", "v", 1, 8);
    write_model(&root, "task_b/000", "v", 1, 8);
    fs::create_dir_all(root.join("task_a/pass_dir")).unwrap();
    fs::write(root.join("task_a/graph_list.txt"), "graphs/one\n").unwrap();
    fs::write(root.join("task_a/pass_dir/sorted_output_pass_rule_names.json"), "[]").unwrap();
    let dataset = Dataset::at(scratch.path().join("dataset"));
    let transfer = import_tasks(&dataset, GraphKind::Fusible, &root).unwrap();
    assert_eq!((transfer.samples, transfer.tasks, transfer.failures.len()), (2, 3, 0));
    let tasks: Vec<TaskRow> = dataset.read(Table::Tasks).unwrap().map(Result::unwrap).collect();
    let graphs: Vec<_> = tasks.iter().map(|task| (task.id.as_str(), task.graphs.as_slice())).collect();
    let one = ["graphs/one".to_owned()];
    assert_eq!(graphs, [("graphs", &one[..]), ("task_a", &one[..]), ("task_b", &["task_b/000".to_owned()][..])]);
    let out = scratch.path().join("out");
    export(&dataset, Table::Tasks, &out).unwrap();
    assert_eq!(tree(&out), tree(&root));
}

#[test]
fn public_tasks_come_back_as_they_were() {
    let scratch = tempfile::tempdir().unwrap();
    let Some(()) = shared_data::unpack("passbench-public.tar.zst", scratch.path()) else { return };
    let mut root = scratch.path().to_owned();
    // The archive may have one folder around the tasks.
    while let [Ok(only)] = &fs::read_dir(&root).unwrap().collect::<Vec<_>>()[..] {
        root = only.path();
    }
    let work = tempfile::tempdir().unwrap();
    let dataset = Dataset::at(work.path().join("dataset"));
    let transfer = import_tasks(&dataset, GraphKind::Fusible, &root).unwrap();
    assert_eq!((transfer.tasks, transfer.failures.as_slice()), (100, &[][..]));
    let out = work.path().join("out");
    export(&dataset, Table::Tasks, &out).unwrap();
    let mut expected = tree(&root);
    // Files next to the tasks belong to none.
    expected.retain(|path, _| path.components().count() > 1);
    assert!(tree(&out) == expected);
}
